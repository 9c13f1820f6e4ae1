// Multicast on NVLink with NVLS: one instruction reads, reduces or writes every member's copy. `p` is the multicast
// address (Team::multicast).
//
// kMultimem... say what the instruction set has: on sm_90 add of f32, f64, f16x2, bf16x2, loads also min and max of the
// two 16-bit types; for integers add (64-bit ones as unsigned: the bits are the same), min, max, and, or, xor; the
// 8-bit floats on sm_100a and its kin. Floats come in vectors of 4, 8 and 16 bytes; integers and doubles one at a time.
#pragma once

#if defined(__CUDACC__)

#include <cstdint>
#include <type_traits>

#include "isotope/base/bits.hpp"
#include "isotope/base/float16.hpp"
#include "isotope/base/order.hpp"
#include "isotope/platform/cuda/atomic.hpp"

namespace isotope::cuda {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
inline constexpr bool kHasMultimem = true;
#else
inline constexpr bool kHasMultimem = false;
#endif  // sm_90
#if defined(__CUDA_ARCH_SPECIFIC__) || defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
#if __CUDA_ARCH__ >= 1000
#define ISOTOPE_MULTIMEM_FP8 1
#endif  // sm_100a
#endif  // architecture-specific
#if !defined(ISOTOPE_MULTIMEM_FP8)
#define ISOTOPE_MULTIMEM_FP8 0
#endif  // ISOTOPE_MULTIMEM_FP8

template <class T>
inline constexpr bool is_half = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T>
inline constexpr bool is_fp8 = std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>;

/// Whether the instruction set reduces T by Op at all.
template <class T, ReduceOp Op>
ISOTOPE_HD constexpr bool multimem_knows() {
  if (!kHasMultimem) return false;
  constexpr bool kBitwise = Op == ReduceOp::bit_and || Op == ReduceOp::bit_or || Op == ReduceOp::bit_xor;
  if (std::is_same_v<T, float> || std::is_same_v<T, double>) return Op == ReduceOp::add;
  if (is_half<T>) return !kBitwise;
  if (is_fp8<T>) return !kBitwise && ISOTOPE_MULTIMEM_FP8 != 0;
  return std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);
}

template <class V, ReduceOp Op, bool Wide>
inline constexpr bool kMultimemLoadReduce = multimem_knows<typename V::value_type, Op>() && sizeof(V) >= 4;
/// The red form takes no 8-bit floats, and of the 16-bit ones sums only.
template <class V, ReduceOp Op>
inline constexpr bool kMultimemReduce =
    multimem_knows<typename V::value_type, Op>() && sizeof(V) >= 4 && !is_fp8<typename V::value_type> &&
    (Op == ReduceOp::add || !is_half<typename V::value_type>);
template <class V>
inline constexpr bool kMultimemStore = kHasMultimem && sizeof(V) >= 4;

/// Orders this thread's accesses by one address of a byte before its accesses by another one.
ISOTOPE_DEVICE void alias_fence() { asm volatile("fence.proxy.alias;" ::: "memory"); }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

// `words` are sizeof(V) / 4 registers of a vector; `C` is their constraint.
#define ISOTOPE_LD_REDUCE(C, operation, type)                                                              \
  if constexpr (sizeof(V) == 4) {                                                                          \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." operation "." type " %0, [%1];"                  \
                 : "=" C(words[0])                                                                         \
                 : "l"(p)                                                                                  \
                 : "memory");                                                                              \
  } else if constexpr (sizeof(V) == 8) {                                                                   \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." operation ".v2." type " {%0, %1}, [%2];"         \
                 : "=" C(words[0]), "=" C(words[1])                                                        \
                 : "l"(p)                                                                                  \
                 : "memory");                                                                              \
  } else {                                                                                                 \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." operation ".v4." type " {%0, %1, %2, %3}, [%4];" \
                 : "=" C(words[0]), "=" C(words[1]), "=" C(words[2]), "=" C(words[3])                      \
                 : "l"(p)                                                                                  \
                 : "memory");                                                                              \
  }
#define ISOTOPE_RED(C, operation, type)                                                                                \
  if constexpr (sizeof(V) == 4) {                                                                                      \
    asm volatile("multimem.red.relaxed.sys.global." operation "." type " [%0], %1;" ::"l"(p), C(words[0]) : "memory"); \
  } else if constexpr (sizeof(V) == 8) {                                                                               \
    asm volatile("multimem.red.relaxed.sys.global." operation ".v2." type " [%0], {%1, %2};" ::"l"(p), C(words[0]),    \
                 C(words[1])                                                                                           \
                 : "memory");                                                                                          \
  } else {                                                                                                             \
    asm volatile("multimem.red.relaxed.sys.global." operation ".v4." type " [%0], {%1, %2, %3, %4};" ::"l"(p),         \
                 C(words[0]), C(words[1]), C(words[2]), C(words[3])                                                    \
                 : "memory");                                                                                          \
  }
#define ISOTOPE_LD_REDUCE_ONE(C, operation, type)                                       \
  asm volatile("multimem.ld_reduce.relaxed.sys.global." operation "." type " %0, [%1];" \
               : "=" C(word)                                                            \
               : "l"(p)                                                                 \
               : "memory")
#define ISOTOPE_RED_ONE(C, operation, type) \
  asm volatile("multimem.red.relaxed.sys.global." operation "." type " [%0], %1;" ::"l"(p), C(word) : "memory")

// One element: an integer or a double. What each operation is called, and the type it takes.
#define ISOTOPE_MULTIMEM_ONE(Do)                                                      \
  if constexpr (std::is_same_v<T, double>) {                                          \
    Do("d", "add", "f64");                                                            \
  } else if constexpr (sizeof(T) == 4) {                                              \
    if constexpr (Op == ReduceOp::add) Do("r", "add", "u32");                         \
    if constexpr (Op == ReduceOp::min && std::is_signed_v<T>) Do("r", "min", "s32");  \
    if constexpr (Op == ReduceOp::min && !std::is_signed_v<T>) Do("r", "min", "u32"); \
    if constexpr (Op == ReduceOp::max && std::is_signed_v<T>) Do("r", "max", "s32");  \
    if constexpr (Op == ReduceOp::max && !std::is_signed_v<T>) Do("r", "max", "u32"); \
    if constexpr (Op == ReduceOp::bit_and) Do("r", "and", "b32");                     \
    if constexpr (Op == ReduceOp::bit_or) Do("r", "or", "b32");                       \
    if constexpr (Op == ReduceOp::bit_xor) Do("r", "xor", "b32");                     \
  } else {                                                                            \
    if constexpr (Op == ReduceOp::add) Do("l", "add", "u64");                         \
    if constexpr (Op == ReduceOp::min && std::is_signed_v<T>) Do("l", "min", "s64");  \
    if constexpr (Op == ReduceOp::min && !std::is_signed_v<T>) Do("l", "min", "u64"); \
    if constexpr (Op == ReduceOp::max && std::is_signed_v<T>) Do("l", "max", "s64");  \
    if constexpr (Op == ReduceOp::max && !std::is_signed_v<T>) Do("l", "max", "u64"); \
    if constexpr (Op == ReduceOp::bit_and) Do("l", "and", "b64");                     \
    if constexpr (Op == ReduceOp::bit_or) Do("l", "or", "b64");                       \
    if constexpr (Op == ReduceOp::bit_xor) Do("l", "xor", "b64");                     \
  }

template <class T>
using MultimemWord = std::conditional_t<std::is_same_v<T, double>, double, Word<sizeof(T)>>;

template <ReduceOp Op, class T>
ISOTOPE_DEVICE T multimem_load_reduce_one(const T* p) {
  MultimemWord<T> word;
  ISOTOPE_MULTIMEM_ONE(ISOTOPE_LD_REDUCE_ONE)
  return bit_cast<T>(word);
}

template <ReduceOp Op, class T>
ISOTOPE_DEVICE void multimem_reduce_one(T* p, T value) {
  const auto word = bit_cast<MultimemWord<T>>(value);
  ISOTOPE_MULTIMEM_ONE(ISOTOPE_RED_ONE)
}

template <class T>
using MultimemLane = std::conditional_t<std::is_same_v<T, float>, float, std::uint32_t>;

template <ReduceOp Op, bool Wide, class V>
ISOTOPE_DEVICE V multimem_load_reduce(const V* p) {
  using T = typename V::value_type;
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
    V result;
#pragma unroll
    for (int i = 0; i < V::kSize; ++i) result[i] = multimem_load_reduce_one<Op>(&p->data[i]);
    return result;
  } else {
    struct alignas(sizeof(V)) Lanes {
      MultimemLane<T> words[sizeof(V) / 4];
    } lanes;
    auto& words = lanes.words;
    if constexpr (std::is_same_v<T, float>) {
      ISOTOPE_LD_REDUCE("f", "add", "f32")
    } else if constexpr (std::is_same_v<T, f16>) {
      if constexpr (Op == ReduceOp::add && Wide) ISOTOPE_LD_REDUCE("r", "add.acc::f32", "f16x2")
      if constexpr (Op == ReduceOp::add && !Wide) ISOTOPE_LD_REDUCE("r", "add", "f16x2")
      if constexpr (Op == ReduceOp::min) ISOTOPE_LD_REDUCE("r", "min", "f16x2")
      if constexpr (Op == ReduceOp::max) ISOTOPE_LD_REDUCE("r", "max", "f16x2")
    } else if constexpr (std::is_same_v<T, bf16>) {
      if constexpr (Op == ReduceOp::add && Wide) ISOTOPE_LD_REDUCE("r", "add.acc::f32", "bf16x2")
      if constexpr (Op == ReduceOp::add && !Wide) ISOTOPE_LD_REDUCE("r", "add", "bf16x2")
      if constexpr (Op == ReduceOp::min) ISOTOPE_LD_REDUCE("r", "min", "bf16x2")
      if constexpr (Op == ReduceOp::max) ISOTOPE_LD_REDUCE("r", "max", "bf16x2")
    }
#if ISOTOPE_MULTIMEM_FP8
    else if constexpr (std::is_same_v<T, e4m3>) {
      if constexpr (Op == ReduceOp::add && Wide) ISOTOPE_LD_REDUCE("r", "add.acc::f16", "e4m3x4")
      if constexpr (Op == ReduceOp::add && !Wide) ISOTOPE_LD_REDUCE("r", "add", "e4m3x4")
      if constexpr (Op == ReduceOp::min) ISOTOPE_LD_REDUCE("r", "min", "e4m3x4")
      if constexpr (Op == ReduceOp::max) ISOTOPE_LD_REDUCE("r", "max", "e4m3x4")
    } else if constexpr (std::is_same_v<T, e5m2>) {
      if constexpr (Op == ReduceOp::add && Wide) ISOTOPE_LD_REDUCE("r", "add.acc::f16", "e5m2x4")
      if constexpr (Op == ReduceOp::add && !Wide) ISOTOPE_LD_REDUCE("r", "add", "e5m2x4")
      if constexpr (Op == ReduceOp::min) ISOTOPE_LD_REDUCE("r", "min", "e5m2x4")
      if constexpr (Op == ReduceOp::max) ISOTOPE_LD_REDUCE("r", "max", "e5m2x4")
    }
#endif  // ISOTOPE_MULTIMEM_FP8
    return bit_cast<V>(lanes);
  }
}

template <ReduceOp Op, class V>
ISOTOPE_DEVICE void multimem_reduce(V* p, const V& value) {
  using T = typename V::value_type;
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
#pragma unroll
    for (int i = 0; i < V::kSize; ++i) multimem_reduce_one<Op>(&p->data[i], value[i]);
  } else {
    struct alignas(sizeof(V)) Lanes {
      MultimemLane<T> words[sizeof(V) / 4];
    };
    const auto lanes = bit_cast<Lanes>(value);
    const auto& words = lanes.words;
    if constexpr (std::is_same_v<T, float>) {
      ISOTOPE_RED("f", "add", "f32")
    } else if constexpr (std::is_same_v<T, f16>) {
      ISOTOPE_RED("r", "add", "f16x2")
    } else {
      ISOTOPE_RED("r", "add", "bf16x2")
    }
  }
}

template <class V>
ISOTOPE_DEVICE void multimem_store(V* p, const V& value) {
  if constexpr (sizeof(V) == 4) {
    asm volatile("multimem.st.relaxed.sys.global.b32 [%0], %1;" ::"l"(p), "r"(bit_cast<std::uint32_t>(value))
                 : "memory");
  } else if constexpr (sizeof(V) == 8) {
    asm volatile("multimem.st.relaxed.sys.global.b64 [%0], %1;" ::"l"(p), "l"(bit_cast<std::uint64_t>(value))
                 : "memory");
  } else {
    struct alignas(16) Lanes {
      float words[4];
    };
    const auto lanes = bit_cast<Lanes>(value);
    asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(lanes.words[0]),
                 "f"(lanes.words[1]), "f"(lanes.words[2]), "f"(lanes.words[3])
                 : "memory");
  }
}

#undef ISOTOPE_LD_REDUCE
#undef ISOTOPE_RED
#undef ISOTOPE_LD_REDUCE_ONE
#undef ISOTOPE_RED_ONE
#undef ISOTOPE_MULTIMEM_ONE

#else

template <ReduceOp Op, bool Wide, class V>
V multimem_load_reduce(const V* p) = delete;
template <ReduceOp Op, class V>
void multimem_reduce(V* p, const V& value) = delete;
template <class V>
void multimem_store(V* p, const V& value) = delete;

#endif  // sm_90

}  // namespace isotope::cuda

#endif  // __CUDACC__
