// Atomic accesses and fences on the CPU. Every scope is the whole machine here, so scopes cost nothing and change
// nothing.
#pragma once

#include <cstdint>
#include <type_traits>

#include "isotope/base/order.hpp"

namespace isotope::cpu {

template <class T>
concept AtomicWord = std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);

template <AtomicWord T>
inline T load(const T* p, Order order) {
  // A switch over literals: the builtins want constants, and fold it away when inlined.
  switch (order) {
    case Order::relaxed:
      return __atomic_load_n(p, __ATOMIC_RELAXED);
    case Order::seq_cst:
      return __atomic_load_n(p, __ATOMIC_SEQ_CST);
    default:
      return __atomic_load_n(p, __ATOMIC_ACQUIRE);
  }
}

template <AtomicWord T>
inline void store(T* p, T value, Order order) {
  switch (order) {
    case Order::relaxed:
      __atomic_store_n(p, value, __ATOMIC_RELAXED);
      break;
    case Order::seq_cst:
      __atomic_store_n(p, value, __ATOMIC_SEQ_CST);
      break;
    default:
      __atomic_store_n(p, value, __ATOMIC_RELEASE);
      break;
  }
}

// x86's read-modify-write instructions are full barriers whatever the order; other CPUs get what is asked for.
template <AtomicWord T>
inline T fetch_add(T* p, T value, Order order) {
  switch (order) {
    case Order::relaxed:
      return __atomic_fetch_add(p, value, __ATOMIC_RELAXED);
    case Order::acquire:
      return __atomic_fetch_add(p, value, __ATOMIC_ACQUIRE);
    case Order::release:
      return __atomic_fetch_add(p, value, __ATOMIC_RELEASE);
    case Order::acq_rel:
      return __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL);
    case Order::seq_cst:
      break;
  }
  return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);
}

template <AtomicWord T>
inline bool compare_exchange(T* p, T& expected, T desired) {
  return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/// Nanoseconds of a monotonic clock that all PEs of a host share.
std::uint64_t clock_ns() noexcept;

}  // namespace isotope::cpu
