// Atomic accesses and fences on a GPU, in the PTX memory model: most by nvcc's builtins __nv_atomic_* (clang's
// __scoped_atomic_*), which become ld.acquire.sys, atom.add.release.gpu and so on, the rest in PTX. Order and scope are
// template parameters because the builtins take literals only.
#pragma once

#if defined(__CUDACC__)

#include <cstdint>
#include <type_traits>

#include "isotope/base/bits.hpp"
#include "isotope/base/float16.hpp"
#include "isotope/base/order.hpp"

#define ISOTOPE_DEVICE __device__ __forceinline__

namespace isotope::cuda {

#if defined(__clang__)
#define ISOTOPE_ATOMIC(call) __scoped_atomic_##call
inline constexpr int kOrders[] = {__ATOMIC_RELAXED, __ATOMIC_ACQUIRE, __ATOMIC_RELEASE, __ATOMIC_ACQ_REL,
                                  __ATOMIC_SEQ_CST};
inline constexpr int kScopes[] = {__MEMORY_SCOPE_WRKGRP, __MEMORY_SCOPE_WRKGRP, __MEMORY_SCOPE_DEVICE,
                                  __MEMORY_SCOPE_DEVICE, __MEMORY_SCOPE_SYSTEM};
#else
#define ISOTOPE_ATOMIC(call) __nv_atomic_##call
inline constexpr int kOrders[] = {__NV_ATOMIC_RELAXED, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELEASE, __NV_ATOMIC_ACQ_REL,
                                  __NV_ATOMIC_SEQ_CST};
// PTX has no scope below a block, and clusters only since sm_90: the next wider one serves.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
inline constexpr int kClusterScope = __NV_THREAD_SCOPE_CLUSTER;
#else
inline constexpr int kClusterScope = __NV_THREAD_SCOPE_DEVICE;
#endif  // __CUDA_ARCH__
inline constexpr int kScopes[] = {__NV_THREAD_SCOPE_BLOCK, __NV_THREAD_SCOPE_BLOCK, kClusterScope,
                                  __NV_THREAD_SCOPE_DEVICE, __NV_THREAD_SCOPE_SYSTEM};
#endif  // __clang__

template <Order O>
inline constexpr int kOrder = kOrders[static_cast<int>(O)];
template <Scope S>
inline constexpr int kScope = kScopes[static_cast<int>(S)];
/// What a failed compare_exchange orders: a load cannot release.
template <Order O>
inline constexpr int kFailedOrder = kOrder < O == Order::release ? Order::relaxed
                                    : O == Order::acq_rel        ? Order::acquire
                                                                 : O > ;

// nvcc takes a literal or a template parameter of the very function, nothing computed: so each access has an inner
// function whose parameters are the builtin's own numbers.
#define ISOTOPE_ACCESS(result, name, parameters, call, arguments) \
  namespace builtin {                                             \
  template <int O, int S, class T>                                \
  ISOTOPE_DEVICE result name parameters {                         \
    return ISOTOPE_ATOMIC(call);                                  \
  }                                                               \
  }                                                               \
  template <Order O, Scope S, class T>                            \
  ISOTOPE_DEVICE result name parameters {                         \
    return builtin::name<kOrder<O>, kScope<S>> arguments;         \
  }
ISOTOPE_ACCESS(T, load, (const T* p), load_n(const_cast<T*>(p), O, S), (p))
ISOTOPE_ACCESS(void, store, (T * p, T value), store_n(p, value, O, S), (p, value))
ISOTOPE_ACCESS(T, exchange, (T * p, T value), exchange_n(p, value, O, S), (p, value))
ISOTOPE_ACCESS(T, fetch_add, (T * p, T value), fetch_add(p, value, O, S), (p, value))
ISOTOPE_ACCESS(T, fetch_sub, (T * p, T value), fetch_sub(p, value, O, S), (p, value))
ISOTOPE_ACCESS(T, fetch_and, (T * p, T value), fetch_and(p, value, O, S), (p, value))
ISOTOPE_ACCESS(T, fetch_or, (T * p, T value), fetch_or(p, value, O, S), (p, value))
ISOTOPE_ACCESS(T, fetch_xor, (T * p, T value), fetch_xor(p, value, O, S), (p, value))
ISOTOPE_ACCESS(T, fetch_min, (T * p, T value), fetch_min(p, value, O, S), (p, value))
ISOTOPE_ACCESS(T, fetch_max, (T * p, T value), fetch_max(p, value, O, S), (p, value))
#undef ISOTOPE_ACCESS

/// Adds to a float or a double.
template <Order O, Scope S, class T>
ISOTOPE_DEVICE T fetch_add_float(T* p, T value) {
  return fetch_add<O, S>(p, value);
}

// Where nobody asks for the value before: reductions, which return nothing and do not wait. In PTX itself, and on
// global memory, where every word of another PE is: of a generic address nvcc makes an atomic that fetches, and a
// branch for shared memory.
#define ISOTOPE_RED_AS(order, scope, what, letter)                                                                   \
  asm volatile("red." order "." scope ".global." what " [%0], %1;" ::"l"(__cvta_generic_to_global(p)), letter(value) \
               : "memory")
#define ISOTOPE_RED(what, letter)                            \
  if constexpr (O == Order::relaxed && S == Scope::system) { \
    ISOTOPE_RED_AS("relaxed", "sys", what, letter);          \
  } else if constexpr (O == Order::relaxed) {                \
    ISOTOPE_RED_AS("relaxed", "gpu", what, letter);          \
  } else if constexpr (S == Scope::system) {                 \
    ISOTOPE_RED_AS("release", "sys", what, letter);          \
  } else {                                                   \
    ISOTOPE_RED_AS("release", "gpu", what, letter);          \
  }
/// What has a reduction here: of the orders, those of a store, and of the scopes, those that reach beyond a block. The
/// rest fetches.
template <Order O, Scope S>
inline constexpr bool kHasReduction =
    (O == Order::relaxed || O == Order::release) && (S == Scope::device || S == Scope::system);
#define ISOTOPE_ONLY(op, narrow, wide, narrow_letter, wide_letter) \
  template <Order O, Scope S, class T>                             \
  ISOTOPE_DEVICE void op##_only(T* p, T value) {                   \
    if constexpr (!kHasReduction<O, S>) {                          \
      static_cast<void>(fetch_##op<O, S>(p, value));               \
    } else if constexpr (sizeof(T) == 4) {                         \
      ISOTOPE_RED(narrow, narrow_letter)                           \
    } else {                                                       \
      static_assert(sizeof(T) == 8);                               \
      ISOTOPE_RED(wide, wide_letter)                               \
    }                                                              \
  }
ISOTOPE_ONLY(add, "add.u32", "add.u64", "r", "l")
ISOTOPE_ONLY(add_float, "add.f32", "add.f64", "f", "d")
ISOTOPE_ONLY(and, "and.b32", "and.b64", "r", "l")
ISOTOPE_ONLY(or, "or.b32", "or.b64", "r", "l")
ISOTOPE_ONLY(xor, "xor.b32", "xor.b64", "r", "l")
#undef ISOTOPE_ONLY
#undef ISOTOPE_RED
#undef ISOTOPE_RED_AS

namespace builtin {
template <int O, int Failed, int S, class T>
ISOTOPE_DEVICE bool compare_exchange(T* p, T* expected, T desired) {
  return ISOTOPE_ATOMIC(compare_exchange_n(p, expected, desired, false, O, Failed, S));
}
}  // namespace builtin

template <Order O, Scope S, class T>
ISOTOPE_DEVICE bool compare_exchange(T* p, T& expected, T desired) {
  return builtin::compare_exchange<kOrder<O>, kFailedOrder<O>, kScope<S>>(p, &expected, desired);
}

/// Whether there are fences that only acquire or only release. One drops what the nearest cache holds, the other waits
/// for what was written: each is the half of a full one, and costs that half.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
inline constexpr bool kHalfFences = true;
#else
inline constexpr bool kHalfFences = false;
#endif  // sm_90

// In PTX itself: with no argument that depends on a type, the builtin is checked before its parameters are known.
#define ISOTOPE_FENCE(scope)                                 \
  if constexpr (O == Order::seq_cst) {                       \
    asm volatile("fence.sc." scope ";" ::: "memory");        \
  } else if constexpr (kHalfFences && O == Order::acquire) { \
    asm volatile("fence.acquire." scope ";" ::: "memory");   \
  } else if constexpr (kHalfFences && O == Order::release) { \
    asm volatile("fence.release." scope ";" ::: "memory");   \
  } else {                                                   \
    asm volatile("fence.acq_rel." scope ";" ::: "memory");   \
  }
template <Order O, Scope S>
ISOTOPE_DEVICE void fence() {
  if constexpr (O == Order::relaxed) {
    return;
  } else if constexpr (S == Scope::system) {
    ISOTOPE_FENCE("sys")
  } else if constexpr (S == Scope::thread || S == Scope::block) {
    ISOTOPE_FENCE("cta")
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if constexpr (S == Scope::cluster) {
      ISOTOPE_FENCE("cluster")
      return;
    }
#endif  // sm_90
    ISOTOPE_FENCE("gpu")
  }
}
#undef ISOTOPE_FENCE

/// Whether one instruction adds to such a value.
template <class T>
inline constexpr bool kNativeAdd = false;
#if defined(__CUDA_ARCH__)
template <>
inline constexpr bool kNativeAdd<f16> = true;
#if __CUDA_ARCH__ >= 900
template <>
inline constexpr bool kNativeAdd<bf16> = true;
#endif  // sm_90
#endif  // __CUDA_ARCH__

#define ISOTOPE_NATIVE_ADD(type, scope)                                  \
  asm volatile("atom.relaxed." scope ".add.noftz." type " %0, [%1], %2;" \
               : "=h"(found)                                             \
               : "l"(p), "h"(value.bits)                                 \
               : "memory")
#define ISOTOPE_NATIVE_ADD_TO(type)                               \
  if constexpr (S == Scope::system) {                             \
    ISOTOPE_NATIVE_ADD(type, "sys");                              \
  } else if constexpr (S == Scope::block || S == Scope::thread) { \
    ISOTOPE_NATIVE_ADD(type, "cta");                              \
  } else {                                                        \
    ISOTOPE_NATIVE_ADD(type, "gpu");                              \
  }

/// Adds to an f16, or to a bf16 where kNativeAdd says so. The instruction is relaxed; fences around it do the rest.
template <Order O, Scope S, class T>
ISOTOPE_DEVICE T native_add(T* p, T value) {
  if constexpr (O == Order::release || O == Order::acq_rel || O == Order::seq_cst) fence<O, S>();
  std::uint16_t found;
  if constexpr (std::is_same_v<T, f16>) {
    ISOTOPE_NATIVE_ADD_TO("f16")
  } else {
    ISOTOPE_NATIVE_ADD_TO("bf16")
  }
  if constexpr (O == Order::acquire || O == Order::acq_rel || O == Order::seq_cst) fence<O, S>();
  return T::from_bits(found);
}
#undef ISOTOPE_NATIVE_ADD_TO
#undef ISOTOPE_NATIVE_ADD

/// 16 bytes at once, relaxed at system scope; `p` is 16-byte aligned. Whole since PTX 8.3, sm_70.
ISOTOPE_DEVICE Bits128 load16(const Bits128* p) {
  Bits128 value;
  asm volatile("{ .reg .b128 whole; ld.relaxed.sys.b128 whole, [%2]; mov.b128 {%0, %1}, whole; }"
               : "=l"(value.low), "=l"(value.high)
               : "l"(p)
               : "memory");
  return value;
}

ISOTOPE_DEVICE void store16(Bits128* p, Bits128 value) {
  asm volatile("{ .reg .b128 whole; mov.b128 whole, {%1, %2}; st.relaxed.sys.b128 [%0], whole; }" ::"l"(p),
               "l"(value.low), "l"(value.high)
               : "memory");
}

/// Nanoseconds of the GPU's global timer. It moves in steps of up to a microsecond: for deadlines, not for measuring.
ISOTOPE_DEVICE std::uint64_t clock_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

#undef ISOTOPE_ATOMIC

}  // namespace isotope::cuda

#endif  // __CUDACC__
