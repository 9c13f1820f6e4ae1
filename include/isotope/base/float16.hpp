// The narrow floating-point types, as storage: f16, bf16, and the 8-bit e4m3 and e5m2.
//
//   f16 x{1.5f};             // rounds to nearest even
//   float y = float(x);      // exact
//
// Arithmetic is done in float by the caller. An 8-bit type saturates at its largest finite value, as the GPU's
// conversions do; f16 and bf16 overflow to infinity.
#pragma once

#include <cstdint>
#include <type_traits>

#include "isotope/base/bits.hpp"
#include "isotope/base/macros.hpp"

namespace isotope {

namespace detail {

/// A binary format of `1 + Exponent + Mantissa` bits. `Infinity`: the highest exponent is kept for infinity and NaN, as
/// in IEEE 754; otherwise only all ones is NaN (e4m3).
template <int Exponent, int Mantissa, bool Infinity, bool Saturate>
struct FloatFormat {
  static constexpr std::uint32_t kBias = (1u << (Exponent - 1)) - 1;
  static constexpr std::uint32_t kTop = ((1u << Exponent) - 1) << Mantissa;
  static constexpr std::uint32_t kNan = Infinity ? kTop | 1u << (Mantissa - 1) : kTop | ((1u << Mantissa) - 1);
  static constexpr std::uint32_t kLargest = Infinity ? kTop - 1 : kNan - 1;

  ISOTOPE_HD static constexpr std::uint32_t encode(float value) {
    const auto bits = bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 31 << (Exponent + Mantissa);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | kNan;
    constexpr int kDrop = 23 - Mantissa;
    constexpr std::uint32_t kRebias = (127 - kBias) << 23;
    std::uint32_t result = 0;
    if (Exponent == 8 || magnitude >= kRebias + (1u << 23)) {
      const std::uint32_t rebased = magnitude - kRebias;
      result = (rebased + (1u << (kDrop - 1)) - 1 + (rebased >> kDrop & 1)) >> kDrop;
    } else {
      // Below the smallest normal number: the mantissa moves right by as much as the exponent is too small.
      const std::uint32_t shift = kDrop + (128 - kBias) - (magnitude >> 23);
      if (shift <= 24) {
        const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
        const std::uint32_t half = 1u << (shift - 1);
        result = (mantissa + half - 1 + (mantissa >> shift & 1)) >> shift;
      }
    }
    if (result > kLargest) result = Saturate ? kLargest : kTop;
    return sign | result;
  }

  ISOTOPE_HD static constexpr float decode(std::uint32_t bits) {
    const std::uint32_t sign = bits >> (Exponent + Mantissa) << 31;
    const std::uint32_t magnitude = bits & (kTop | ((1u << Mantissa) - 1));
    constexpr int kDrop = 23 - Mantissa;
    if (magnitude > kLargest) {
      if (Infinity && magnitude == kTop) return bit_cast<float>(sign | 0x7f800000u);
      return bit_cast<float>(sign | 0x7fc00000u | (magnitude & ((1u << Mantissa) - 1)) << kDrop);
    }
    if (Exponent == 8) return bit_cast<float>(sign | magnitude << kDrop);
    if (magnitude >> Mantissa == 0) {
      // A multiple of the smallest number, which float holds exactly.
      const float unit = bit_cast<float>((127 + 1 - kBias - Mantissa) << 23);
      const float value = static_cast<float>(magnitude) * unit;
      return sign != 0 ? -value : value;
    }
    return bit_cast<float>(sign | ((magnitude << kDrop) + ((127 - kBias) << 23)));
  }
};

}  // namespace detail

// One body for the four types: the format, the storage word, and how a GPU converts where it can.
#define ISOTOPE_NARROW_FLOAT(name, word, Format)                                                    \
  struct name {                                                                                     \
    word bits;                                                                                      \
    name() = default;                                                                               \
    ISOTOPE_HD explicit constexpr name(float value) : bits(static_cast<word>(Format::encode(value))) {} \
    ISOTOPE_HD explicit constexpr operator float() const { return Format::decode(bits); }           \
    ISOTOPE_HD static constexpr name from_bits(word bits_) {                                        \
      name value{};                                                                                 \
      value.bits = bits_;                                                                           \
      return value;                                                                                 \
    }                                                                                               \
  };                                                                                                \
  static_assert(std::is_trivially_copyable_v<name> && sizeof(name) == sizeof(word))

using F16Format = detail::FloatFormat<5, 10, true, false>;
using Bf16Format = detail::FloatFormat<8, 7, true, false>;
using E4m3Format = detail::FloatFormat<4, 3, false, true>;
using E5m2Format = detail::FloatFormat<5, 2, true, true>;

ISOTOPE_NARROW_FLOAT(f16, std::uint16_t, F16Format);
ISOTOPE_NARROW_FLOAT(bf16, std::uint16_t, Bf16Format);
ISOTOPE_NARROW_FLOAT(e4m3, std::uint8_t, E4m3Format);
ISOTOPE_NARROW_FLOAT(e5m2, std::uint8_t, E5m2Format);

#undef ISOTOPE_NARROW_FLOAT

template <class T>
inline constexpr bool is_narrow_float =
    std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>;

}  // namespace isotope
