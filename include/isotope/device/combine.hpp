// Two values into one: the arithmetic that multicast calls and collectives share.
#pragma once

#include <type_traits>

#include "isotope/base/float16.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/base/order.hpp"

namespace isotope {

/// Whether a sum of narrow floats is kept in f32, or rounded to the type at each step.
enum class Accumulate { wide, native };

namespace detail {

/// What a sum of T is kept in.
template <class T>
using Wide = std::conditional_t<is_narrow_float<T>, float, T>;

template <ReduceOp Op, class T>
ISOTOPE_HD T combine_plain(T a, T b) {
  if constexpr (Op == ReduceOp::add || Op == ReduceOp::average || Op == ReduceOp::multiply) {
    if constexpr (std::is_integral_v<T>) {
      // Integers wrap; narrow ones would be promoted to int, which must not overflow.
      using U = std::conditional_t<sizeof(T) < 4, unsigned, std::make_unsigned_t<T>>;
      return static_cast<T>(Op == ReduceOp::multiply ? static_cast<U>(a) * static_cast<U>(b)
                                                     : static_cast<U>(a) + static_cast<U>(b));
    } else {
      return Op == ReduceOp::multiply ? a * b : a + b;
    }
  } else if constexpr (Op == ReduceOp::min || Op == ReduceOp::max) {
    // A number wins against NaN, as in the instructions.
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a) return b;
      if (b != b) return a;
    }
    return (Op == ReduceOp::min ? b < a : a < b) ? b : a;
  } else if constexpr (Op == ReduceOp::bit_and) {
    return static_cast<T>(a & b);
  } else if constexpr (Op == ReduceOp::bit_or) {
    return static_cast<T>(a | b);
  } else {
    return static_cast<T>(a ^ b);
  }
}

}  // namespace detail

}  // namespace isotope
