// Small numbers of every type that atomics take, and their comparison.
#pragma once

#include "isotope/base/float16.hpp"
#include "isotope/base/macros.hpp"

namespace isotope::testing {

/// A small integer as T; unsigned ones wrap.
template <class T>
ISOTOPE_HD constexpr T number(int value) {
  if constexpr (is_narrow_float<T>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}
template <class T>
ISOTOPE_HD constexpr T poison() {
  return number<T>(0x5a);
}
template <class T>
bool equal(T a, T b) {
  if constexpr (is_narrow_float<T>)
    return a.bits == b.bits;
  else
    return a == b;
}

}  // namespace isotope::testing
