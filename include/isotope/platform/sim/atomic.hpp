// Atomic accesses and fences under the checker: each one is a call that knows its order and scope, and a place where
// the scheduler may let another thread run.
#pragma once

#include <cstdint>
#include <type_traits>

#include "isotope/base/bits.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/base/order.hpp"
#include "isotope/platform/cpu/atomic.hpp"

namespace isotope::sim {

enum class Change { exchange, add, sub, bit_and, bit_or, bit_xor, min, max, min_signed, max_signed, add_float };

// Words of 1, 2, 4 and 8 bytes, in the low bytes of the value.
std::uint64_t load_word(const void* p, int bytes, Order order, Scope scope);
void store_word(void* p, int bytes, std::uint64_t value, Order order, Scope scope);
std::uint64_t change_word(void* p, int bytes, Change change, std::uint64_t value, Order order, Scope scope);
/// Returns what was found; it was replaced if that is `expected`.
std::uint64_t replace_word(void* p, int bytes, std::uint64_t expected, std::uint64_t desired, Order order, Scope scope);
void order_accesses(Order order, Scope scope);
Bits128 load_16_bytes(const Bits128* p);
void store_16_bytes(Bits128* p, Bits128 value);

using cpu::clock_ns;

#define ISOTOPE_SIM_FUNCTION __attribute__((always_inline)) inline

template <Order O, Scope S, class T>
ISOTOPE_SIM_FUNCTION T load(const T* p) {
  return static_cast<T>(load_word(p, sizeof(T), O, S));
}

template <Order O, Scope S, class T>
ISOTOPE_SIM_FUNCTION void store(T* p, T value) {
  store_word(p, sizeof(T), static_cast<std::uint64_t>(value), O, S);
}

template <Order O, Scope S, class T>
ISOTOPE_SIM_FUNCTION bool compare_exchange(T* p, T& expected, T desired) {
  const T found = static_cast<T>(
      replace_word(p, sizeof(T), static_cast<std::uint64_t>(expected), static_cast<std::uint64_t>(desired), O, S));
  const bool done = found == expected;
  expected = found;
  return done;
}

#define ISOTOPE_CHANGE(name, change)                                                                   \
  template <Order O, Scope S, class T>                                                                 \
  ISOTOPE_SIM_FUNCTION T name(T* p, T value) {                                                         \
    return static_cast<T>(change_word(p, sizeof(T), change, static_cast<std::uint64_t>(value), O, S)); \
  }
ISOTOPE_CHANGE(exchange, Change::exchange)
ISOTOPE_CHANGE(fetch_add, Change::add)
ISOTOPE_CHANGE(fetch_sub, Change::sub)
ISOTOPE_CHANGE(fetch_and, Change::bit_and)
ISOTOPE_CHANGE(fetch_or, Change::bit_or)
ISOTOPE_CHANGE(fetch_xor, Change::bit_xor)
ISOTOPE_CHANGE(fetch_min, (std::is_signed_v<T> ? Change::min_signed : Change::min))
ISOTOPE_CHANGE(fetch_max, (std::is_signed_v<T> ? Change::max_signed : Change::max))
#undef ISOTOPE_CHANGE

template <Order O, Scope S, class T>
  requires std::is_floating_point_v<T>
ISOTOPE_SIM_FUNCTION T fetch_add_float(T* p, T value) {
  using W = Word<sizeof(T)>;
  return bit_cast<T>(static_cast<W>(change_word(p, sizeof(T), Change::add_float, bit_cast<W>(value), O, S)));
}

#include "isotope/platform/only_by_fetch.inc"

template <class T>
inline constexpr bool kNativeAdd = false;
template <Order O, Scope S, class T>
T native_add(T* p, T value) = delete;

template <Order O, Scope S>
ISOTOPE_SIM_FUNCTION void fence() {
  if constexpr (O != Order::relaxed) order_accesses(O, S);
}

ISOTOPE_SIM_FUNCTION Bits128 load16(const Bits128* p) { return load_16_bytes(p); }
ISOTOPE_SIM_FUNCTION void store16(Bits128* p, Bits128 value) { store_16_bytes(p, value); }

}  // namespace isotope::sim
