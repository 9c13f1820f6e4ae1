// Remote atomics: one thread changes or reads a word of a member of a team, as a whole.
//
//   atomic_add(team, &histogram[bin], 1u, owner);
//   std::uint64_t ticket = atomic_fetch_add(team, &next, 1ul, 0);
//
// `word` is symmetric and given as this PE's own address. Called by one thread, for itself. Order: relaxed unless told
// otherwise, at system scope; atomics on one word by any number of PEs are never lost and happen in one order. A call
// that fetches returns when the value is there; the others may return earlier. A stopped team does nothing and fetches
// zero; a bad rank or, in the checked build, a bad address is recorded (check.hpp).
//
//   set, fetch, swap                            32- and 64-bit integers, float, double
//   compare_swap, inc, add, and, or, xor        32- and 64-bit integers; each with and without fetch
//   add                                         also float, double, f16, bf16
#pragma once

#include <type_traits>

#include "isotope/base/call_site.hpp"
#include "isotope/device/check.hpp"
#include "isotope/device/memory.hpp"
#include "isotope/device/team.hpp"

namespace isotope {

namespace detail {
template <class T>
ISOTOPE_HD bool atomic_is_good(const Team& team, const char* name, const T* word, int pe, CallSite site) {
  return !team.stopped() && remote_is_good(team, {name, site}, "pe", pe, "word", word, sizeof(T), sizeof(T));
}
}  // namespace detail

template <AtomicValue T>
ISOTOPE_HD void atomic_set(const Team& team, T* word, std::type_identity_t<T> value, int pe,
                           Order order = Order::relaxed, CallSite site = CallSite::current()) {
  if (detail::atomic_is_good(team, "atomic_set", word, pe, site)) store(team.at(word, pe), value, order);
}

template <AtomicValue T>
ISOTOPE_HD T atomic_fetch(const Team& team, const T* word, int pe, Order order = Order::relaxed,
                          CallSite site = CallSite::current()) {
  return detail::atomic_is_good(team, "atomic_fetch", word, pe, site) ? load(team.at(word, pe), order) : T{};
}

template <AtomicValue T>
ISOTOPE_HD T atomic_swap(const Team& team, T* word, std::type_identity_t<T> value, int pe, Order order = Order::relaxed,
                         CallSite site = CallSite::current()) {
  return detail::atomic_is_good(team, "atomic_swap", word, pe, site) ? exchange(team.at(word, pe), value, order) : T{};
}

/// Writes `value` if the word is `condition`. Returns what was there.
template <AtomicWord T>
ISOTOPE_HD T atomic_compare_swap(const Team& team, T* word, std::type_identity_t<T> condition,
                                 std::type_identity_t<T> value, int pe, Order order = Order::relaxed,
                                 CallSite site = CallSite::current()) {
  if (!detail::atomic_is_good(team, "atomic_compare_swap", word, pe, site)) return T{};
  compare_exchange(team.at(word, pe), condition, value, order);
  return condition;
}

// With and without fetch.
#define ISOTOPE_REMOTE_ATOMIC(op, Kind)                                                               \
  template <Kind T>                                                                                   \
  ISOTOPE_HD T atomic_fetch_##op(const Team& team, T* word, std::type_identity_t<T> value, int pe,    \
                                 Order order = Order::relaxed, CallSite site = CallSite::current()) { \
    return detail::atomic_is_good(team, "atomic_fetch_" #op, word, pe, site)                          \
               ? fetch_##op(team.at(word, pe), value, order)                                          \
               : T{};                                                                                 \
  }                                                                                                   \
  template <Kind T>                                                                                   \
  ISOTOPE_HD void atomic_##op(const Team& team, T* word, std::type_identity_t<T> value, int pe,       \
                              Order order = Order::relaxed, CallSite site = CallSite::current()) {    \
    if (detail::atomic_is_good(team, "atomic_" #op, word, pe, site))                                  \
      detail::op##_only(team.at(word, pe), value, order);                                             \
  }
ISOTOPE_REMOTE_ATOMIC(add, AtomicSum)
ISOTOPE_REMOTE_ATOMIC(and, AtomicWord)
ISOTOPE_REMOTE_ATOMIC(or, AtomicWord)
ISOTOPE_REMOTE_ATOMIC(xor, AtomicWord)
#undef ISOTOPE_REMOTE_ATOMIC

template <AtomicWord T>
ISOTOPE_HD T atomic_fetch_inc(const Team& team, T* word, int pe, Order order = Order::relaxed,
                              CallSite site = CallSite::current()) {
  return atomic_fetch_add(team, word, T{1}, pe, order, site);
}

template <AtomicWord T>
ISOTOPE_HD void atomic_inc(const Team& team, T* word, int pe, Order order = Order::relaxed,
                           CallSite site = CallSite::current()) {
  atomic_add(team, word, T{1}, pe, order, site);
}

}  // namespace isotope
