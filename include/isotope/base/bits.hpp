// bit_cast for host and device (std::bit_cast is no device code without a compiler flag), and 16 bytes as one value.
#pragma once

#include <cstdint>
#include <type_traits>

#include "isotope/base/macros.hpp"

namespace isotope {

/// The same bytes as another type of the same size.
template <class To, class From>
  requires(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> && std::is_trivially_copyable_v<From>)
ISOTOPE_HD constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}

/// 16 bytes, moved as a whole by load16 and store16.
struct alignas(16) Bits128 {
  std::uint64_t low = 0, high = 0;

  friend ISOTOPE_HD constexpr bool operator==(Bits128 a, Bits128 b) { return a.low == b.low && a.high == b.high; }
};

namespace detail {
template <int Bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using type = std::uint8_t;
};
template <>
struct WordOf<2> {
  using type = std::uint16_t;
};
template <>
struct WordOf<4> {
  using type = std::uint32_t;
};
template <>
struct WordOf<8> {
  using type = std::uint64_t;
};
template <>
struct WordOf<16> {
  using type = Bits128;
};
}  // namespace detail

/// The unsigned word of that many bytes: 1, 2, 4, 8, or 16 (Bits128).
template <int Bytes>
using Word = typename detail::WordOf<Bytes>::type;

}  // namespace isotope
