// Loads, stores and atomics with an order and a scope, on 32- and 64-bit integers.
//
// Called by one thread. To another PE only Scope::system synchronises; the default scope is therefore system, and the
// default order relaxed, as for plain atomics everywhere in Isotope.
#pragma once

#include "isotope/base/macros.hpp"
#include "isotope/base/order.hpp"
#include "isotope/platform/cpu/atomic.hpp"

namespace isotope {

template <class T>
concept AtomicWord = cpu::AtomicWord<T>;

template <AtomicWord T>
ISOTOPE_HD T load(const T* p, Order order = Order::relaxed, [[maybe_unused]] Scope scope = Scope::system) {
  return cpu::load(p, order);
}

template <AtomicWord T>
ISOTOPE_HD void store(T* p, std::type_identity_t<T> value, Order order = Order::relaxed,
                      [[maybe_unused]] Scope scope = Scope::system) {
  cpu::store(p, value, order);
}

/// Returns the value before.
template <AtomicWord T>
ISOTOPE_HD T fetch_add(T* p, std::type_identity_t<T> value, Order order = Order::relaxed,
                       [[maybe_unused]] Scope scope = Scope::system) {
  return cpu::fetch_add(p, value, order);
}

}  // namespace isotope
