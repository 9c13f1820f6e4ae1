// Loads, stores, atomics and fences with an order and a scope, on this PE's memory or on any address that Team::at
// gave.
//
//   std::uint64_t seen = load(&flag, Order::acquire);                 // system scope unless told otherwise
//   fetch_add(&count, 1u, Order::relaxed, Scope::device);
//   fence(Order::release);
//
// Called by one thread; each acts for that thread alone. To another PE only Scope::system synchronises, so system is
// the default scope; the default order is relaxed, as for plain atomics everywhere in Isotope. Pass order and scope as
// constants: they then cost nothing. They cannot fail; the address is the caller's to get right.
//
//   what                                        on
//   load, store, exchange, compare_exchange     32- and 64-bit integers, float, double
//   fetch_add                                   the same, and f16 and bf16
//   fetch_sub, and, or, xor, min, max           32- and 64-bit integers
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "isotope/base/bits.hpp"
#include "isotope/base/float16.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/base/order.hpp"
#include "isotope/platform/platform.hpp"

namespace isotope {

template <class T>
concept AtomicWord = std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);
template <class T>
concept AtomicValue = AtomicWord<T> || std::same_as<T, float> || std::same_as<T, double>;
template <class T>
concept AtomicSum = AtomicValue<T> || std::same_as<T, f16> || std::same_as<T, bf16>;

namespace detail {

// Platforms take order and scope as template parameters, callers give them as arguments. These switches fold away when
// the arguments are constants.
template <class Op, Order O, class... A>
ISOTOPE_FLAT auto with_scope(Scope scope, A... arguments) {
  switch (scope) {
    case Scope::thread:
    case Scope::block:
      return Op::template call<O, Scope::block>(arguments...);
    case Scope::cluster:
      return Op::template call<O, Scope::cluster>(arguments...);
    case Scope::device:
      return Op::template call<O, Scope::device>(arguments...);
    case Scope::system:
      break;
  }
  return Op::template call<O, Scope::system>(arguments...);
}

/// What an operation may order: a load cannot release, a store cannot acquire. What it cannot do it does one stronger.
enum class Access { load, store, both };

template <class Op, class... A>
ISOTOPE_FLAT auto with_order(Order order, Scope scope, A... arguments) {
  if (order == Order::relaxed) return with_scope<Op, Order::relaxed>(scope, arguments...);
  if (order == Order::seq_cst) return with_scope<Op, Order::seq_cst>(scope, arguments...);
  if constexpr (Op::kAccess == Access::load) {
    return with_scope<Op, Order::acquire>(scope, arguments...);
  } else if constexpr (Op::kAccess == Access::store) {
    return with_scope<Op, Order::release>(scope, arguments...);
  } else {
    if (order == Order::acquire) return with_scope<Op, Order::acquire>(scope, arguments...);
    if (order == Order::release) return with_scope<Op, Order::release>(scope, arguments...);
    return with_scope<Op, Order::acq_rel>(scope, arguments...);
  }
}

#define ISOTOPE_OPERATION(name, access)               \
  struct name##_operation {                           \
    static constexpr Access kAccess = Access::access; \
    template <Order O, Scope S, class... A>           \
    ISOTOPE_FLAT static auto call(A... arguments) {   \
      return platform::name<O, S>(arguments...);      \
    }                                                 \
  };
ISOTOPE_OPERATION(load, load)
ISOTOPE_OPERATION(store, store)
ISOTOPE_OPERATION(exchange, both)
ISOTOPE_OPERATION(fetch_add, both)
ISOTOPE_OPERATION(fetch_sub, both)
ISOTOPE_OPERATION(fetch_and, both)
ISOTOPE_OPERATION(fetch_or, both)
ISOTOPE_OPERATION(fetch_xor, both)
ISOTOPE_OPERATION(fetch_min, both)
ISOTOPE_OPERATION(fetch_max, both)
ISOTOPE_OPERATION(fetch_add_float, both)
ISOTOPE_OPERATION(add_only, both)
ISOTOPE_OPERATION(add_float_only, both)
ISOTOPE_OPERATION(and_only, both)
ISOTOPE_OPERATION(or_only, both)
ISOTOPE_OPERATION(xor_only, both)
ISOTOPE_OPERATION(fence, both)
#undef ISOTOPE_OPERATION

struct compare_exchange_operation {
  static constexpr Access kAccess = Access::both;
  template <Order O, Scope S, class W>
  ISOTOPE_FLAT static bool call(W* p, W* expected, W desired) {
    return platform::compare_exchange<O, S>(p, *expected, desired);
  }
};

struct fetch_add_narrow_operation {
  static constexpr Access kAccess = Access::both;
  template <Order O, Scope S, class T>
  ISOTOPE_FLAT static T call(T* p, T value) {
    if constexpr (platform::kNativeAdd<T>) {
      return platform::native_add<O, S>(p, value);
    } else {
      auto* word = &p->bits;
      auto found = platform::load<Order::relaxed, S>(word);
      for (;;) {
        const T sum(static_cast<float>(T::from_bits(found)) + static_cast<float>(value));
        if (platform::compare_exchange<O, S>(word, found, sum.bits)) return T::from_bits(found);
      }
    }
  }
};

/// The platform sees unsigned words, whatever the type.
template <class T>
ISOTOPE_FLAT Word<sizeof(T)>* word_of(T* p) {
  return reinterpret_cast<Word<sizeof(T)>*>(p);
}
template <class T>
ISOTOPE_FLAT const Word<sizeof(T)>* word_of(const T* p) {
  return reinterpret_cast<const Word<sizeof(T)>*>(p);
}

}  // namespace detail

template <AtomicValue T>
ISOTOPE_FLAT T load(const T* p, Order order = Order::relaxed, Scope scope = Scope::system) {
  return bit_cast<T>(detail::with_order<detail::load_operation>(order, scope, detail::word_of(p)));
}

template <AtomicValue T>
ISOTOPE_FLAT void store(T* p, std::type_identity_t<T> value, Order order = Order::relaxed,
                        Scope scope = Scope::system) {
  detail::with_order<detail::store_operation>(order, scope, detail::word_of(p), bit_cast<Word<sizeof(T)>>(value));
}

/// Returns the value before.
template <AtomicValue T>
ISOTOPE_FLAT T exchange(T* p, std::type_identity_t<T> value, Order order = Order::relaxed,
                        Scope scope = Scope::system) {
  return bit_cast<T>(detail::with_order<detail::exchange_operation>(order, scope, detail::word_of(p),
                                                                    bit_cast<Word<sizeof(T)>>(value)));
}

/// Writes `desired` if `*p` has the bits of `expected`; otherwise puts what was found into `expected`. A failure orders
/// no more than a load: acquire for acq_rel, relaxed for release.
template <AtomicValue T>
ISOTOPE_FLAT bool compare_exchange(T* p, T& expected, std::type_identity_t<T> desired, Order order = Order::relaxed,
                                   Scope scope = Scope::system) {
  auto word = bit_cast<Word<sizeof(T)>>(expected);
  const bool done = detail::with_order<detail::compare_exchange_operation>(order, scope, detail::word_of(p), &word,
                                                                           bit_cast<Word<sizeof(T)>>(desired));
  expected = bit_cast<T>(word);
  return done;
}

/// Adds, and returns the value before. Integers wrap; f16 and bf16 round each sum to nearest even.
template <AtomicSum T>
ISOTOPE_FLAT T fetch_add(T* p, std::type_identity_t<T> value, Order order = Order::relaxed,
                         Scope scope = Scope::system) {
  if constexpr (is_narrow_float<T>) {
    return detail::with_order<detail::fetch_add_narrow_operation>(order, scope, p, value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return detail::with_order<detail::fetch_add_float_operation>(order, scope, p, value);
  } else {
    return static_cast<T>(detail::with_order<detail::fetch_add_operation>(order, scope, detail::word_of(p),
                                                                          static_cast<Word<sizeof(T)>>(value)));
  }
}

// Each returns the value before.
#define ISOTOPE_FETCH(op)                                                                                           \
  template <AtomicWord T>                                                                                           \
  ISOTOPE_FLAT T fetch_##op(T* p, std::type_identity_t<T> value, Order order = Order::relaxed,                      \
                            Scope scope = Scope::system) {                                                          \
    return static_cast<T>(detail::with_order<detail::fetch_##op##_operation>(order, scope, detail::word_of(p),      \
                                                                             static_cast<Word<sizeof(T)>>(value))); \
  }
ISOTOPE_FETCH(sub)
ISOTOPE_FETCH(and)
ISOTOPE_FETCH(or)
ISOTOPE_FETCH(xor)
#undef ISOTOPE_FETCH

// Signed and unsigned compare differently. Each returns the value before.
#define ISOTOPE_FETCH(op)                                                                                           \
  template <AtomicWord T>                                                                                           \
  ISOTOPE_FLAT T fetch_##op(T* p, std::type_identity_t<T> value, Order order = Order::relaxed,                      \
                            Scope scope = Scope::system) {                                                          \
    using W = std::conditional_t<std::is_signed_v<T>, std::make_signed_t<Word<sizeof(T)>>, Word<sizeof(T)>>;        \
    return static_cast<T>(detail::with_order<detail::fetch_##op##_operation>(order, scope, reinterpret_cast<W*>(p), \
                                                                             static_cast<W>(value)));               \
  }
ISOTOPE_FETCH(min)
ISOTOPE_FETCH(max)
#undef ISOTOPE_FETCH

namespace detail {
// The same for a word whose value before nobody asks for: a GPU does not wait for it then. The word is in global memory
// there, as all symmetric memory is, and not in a block's shared memory.
template <AtomicSum T>
ISOTOPE_FLAT void add_only(T* p, std::type_identity_t<T> value, Order order, Scope scope = Scope::system) {
  if constexpr (is_narrow_float<T>) {
    static_cast<void>(fetch_add(p, value, order, scope));
  } else if constexpr (std::is_floating_point_v<T>) {
    with_order<add_float_only_operation>(order, scope, p, value);
  } else {
    with_order<add_only_operation>(order, scope, word_of(p), static_cast<Word<sizeof(T)>>(value));
  }
}
#define ISOTOPE_ONLY(op)                                                                                       \
  template <AtomicWord T>                                                                                      \
  ISOTOPE_FLAT void op##_only(T* p, std::type_identity_t<T> value, Order order, Scope scope = Scope::system) { \
    with_order<op##_only_operation>(order, scope, word_of(p), static_cast<Word<sizeof(T)>>(value));            \
  }
ISOTOPE_ONLY(and)
ISOTOPE_ONLY(or)
ISOTOPE_ONLY(xor)
#undef ISOTOPE_ONLY
}  // namespace detail

/// Orders this thread's accesses before it with those after it, as in C++ and PTX. Order::relaxed does nothing.
ISOTOPE_FLAT void fence(Order order = Order::acq_rel, Scope scope = Scope::system) {
  detail::with_order<detail::fence_operation>(order, scope);
}

/// 16 bytes as one access, relaxed at system scope: no reader sees half of a store16. `p` is 16-byte aligned.
ISOTOPE_FLAT Bits128 load16(const Bits128* p) { return platform::load16(p); }
ISOTOPE_FLAT void store16(Bits128* p, Bits128 value) { platform::store16(p, value); }

}  // namespace isotope
