// Atomic accesses and fences on the CPU. Every scope is the whole machine here, so scopes cost nothing and change
// nothing: `Scope` is a parameter for the sake of platforms where it matters.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "isotope/base/bits.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/base/order.hpp"

namespace isotope::cpu {

constexpr int builtin_order(Order order) {
  switch (order) {
    case Order::relaxed:
      return __ATOMIC_RELAXED;
    case Order::acquire:
      return __ATOMIC_ACQUIRE;
    case Order::release:
      return __ATOMIC_RELEASE;
    case Order::acq_rel:
      return __ATOMIC_ACQ_REL;
    case Order::seq_cst:
      break;
  }
  return __ATOMIC_SEQ_CST;
}

/// Integers of 4 and 8 bytes; load, store and compare_exchange also of 1 and 2.
template <Order O, Scope, class T>
inline T load(const T* p) {
  return __atomic_load_n(p, builtin_order(O));
}

template <Order O, Scope, class T>
inline void store(T* p, T value) {
  __atomic_store_n(p, value, builtin_order(O));
}

template <Order O, Scope, class T>
inline T exchange(T* p, T value) {
  return __atomic_exchange_n(p, value, builtin_order(O));
}

template <Order O, Scope, class T>
inline bool compare_exchange(T* p, T& expected, T desired) {
  constexpr int kFailed = O == Order::release   ? __ATOMIC_RELAXED
                          : O == Order::acq_rel ? __ATOMIC_ACQUIRE
                                                : builtin_order(O);
  return __atomic_compare_exchange_n(p, &expected, desired, false, builtin_order(O), kFailed);
}

// x86's read-modify-write instructions are full barriers whatever the order; other CPUs get what is asked for.
#define ISOTOPE_FETCH(op)                                   \
  template <Order O, Scope, class T>                        \
  inline T fetch_##op(T* p, T value) {                      \
    return __atomic_fetch_##op(p, value, builtin_order(O)); \
  }
ISOTOPE_FETCH(add)
ISOTOPE_FETCH(sub)
ISOTOPE_FETCH(and)
ISOTOPE_FETCH(or)
ISOTOPE_FETCH(xor)
#undef ISOTOPE_FETCH

template <Order O, Scope S, class T>
inline T fetch_min(T* p, T value) {
  T found = load<Order::relaxed, S>(p);
  while (!compare_exchange<O, S>(p, found, value < found ? value : found)) {
  }
  return found;
}

template <Order O, Scope S, class T>
inline T fetch_max(T* p, T value) {
  T found = load<Order::relaxed, S>(p);
  while (!compare_exchange<O, S>(p, found, found < value ? value : found)) {
  }
  return found;
}

/// Adds to a float or a double.
template <Order O, Scope S, class T>
  requires std::is_floating_point_v<T>
inline T fetch_add_float(T* p, T value) {
  using W = Word<sizeof(T)>;
  auto* word = reinterpret_cast<W*>(p);
  W found = load<Order::relaxed, S>(word);
  while (!compare_exchange<O, S>(word, found, bit_cast<W>(bit_cast<T>(found) + value))) {
  }
  return bit_cast<T>(found);
}

#include "isotope/platform/only_by_fetch.inc"

/// Whether one instruction adds to such a value: here to none that is narrower than 32 bits.
template <class T>
inline constexpr bool kNativeAdd = false;
template <Order O, Scope S, class T>
T native_add(T* p, T value) = delete;

template <Order O, Scope>
inline void fence() {
  if constexpr (O != Order::relaxed) __atomic_thread_fence(builtin_order(O));
}

/// 16 bytes at once, relaxed; `p` is 16-byte aligned. Intel and AMD promise it for every processor with AVX.
inline Bits128 load16(const Bits128* p) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  typedef long long Vector __attribute__((vector_size(16)));
  Vector value;
  asm volatile("movdqa %1, %0" : "=x"(value) : "m"(*reinterpret_cast<const Vector*>(p)));
  Bits128 result;
  std::memcpy(static_cast<void*>(&result), &value, sizeof(result));
  return result;
#else
  Bits128 value;
  __atomic_load(p, &value, __ATOMIC_RELAXED);
  return value;
#endif  // __x86_64__
}

inline void store16(Bits128* p, Bits128 value) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  typedef long long Vector __attribute__((vector_size(16)));
  Vector whole;
  std::memcpy(&whole, &value, sizeof(whole));
  asm volatile("movdqa %1, %0" : "=m"(*reinterpret_cast<Vector*>(p)) : "x"(whole));
#else
  __atomic_store(p, &value, __ATOMIC_RELAXED);
#endif  // __x86_64__
}

/// Nanoseconds of a monotonic clock that all PEs of a host share.
std::uint64_t clock_ns() noexcept;

}  // namespace isotope::cpu
