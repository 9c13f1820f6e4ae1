// Elements inside a word that is in registers: what loads, stores and packets carry. By shifts, not by address: on a
// GPU a value whose address is taken leaves the registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "isotope/base/bits.hpp"
#include "isotope/base/float16.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/platform/platform.hpp"

namespace isotope::detail {

template <class T>
ISOTOPE_FLAT T lane(std::uint64_t word, std::size_t i) {
  return bit_cast<T>(static_cast<Word<sizeof(T)>>(word >> (i * sizeof(T) * 8)));
}
template <class T>
ISOTOPE_FLAT T lane(const Bits128& word, std::size_t i) {
  constexpr std::size_t kHalf = 8 / sizeof(T);
  return i < kHalf ? lane<T>(word.low, i) : lane<T>(word.high, i - kHalf);
}

/// The same as a P. A bf16 is the upper half of an f32: one instruction, where a compiler makes two of first taking it
/// out.
template <class P, class T, class Whole>
ISOTOPE_FLAT P widened_lane(const Whole& word, std::size_t i) {
  if constexpr (std::is_same_v<T, bf16> && std::is_same_v<P, float>) {
    const auto pair =
        platform::opaque(lane<std::uint32_t>(word, i / 2));  // or it is shifted together with its neighbour
    return bit_cast<float>(i % 2 == 0 ? pair << 16 : pair & 0xffff0000u);
  } else {
    return static_cast<P>(lane<T>(word, i));
  }
}

/// Sets an element that is zero so far.
template <class Whole, class T>
ISOTOPE_FLAT void set_lane(Whole& word, std::size_t i, T value) {
  if constexpr (sizeof(Whole) <= 8) {
    word |= static_cast<Whole>(bit_cast<Word<sizeof(T)>>(value)) << (i * sizeof(T) * 8);
  } else {
    constexpr std::size_t kHalf = 8 / sizeof(T);
    if (i < kHalf) {
      set_lane(word.low, i, value);
    } else {
      set_lane(word.high, i - kHalf, value);
    }
  }
}

/// Sets elements 2 * i and 2 * i + 1, of 16 bits each, which are zero so far. One after the other they are put together
/// and taken apart again, where an instruction makes both at once.
template <class Whole, class T>
ISOTOPE_FLAT void set_lanes(Whole& word, std::size_t i, T first, T second) {
  const std::uint32_t high = bit_cast<std::uint16_t>(second);
  set_lane(word, i, platform::opaque(bit_cast<std::uint16_t>(first) | high << 16));
}

/// Words that have lanes.
template <class Whole>
inline constexpr bool kHasLanes = sizeof(Whole) <= 16;

}  // namespace isotope::detail
