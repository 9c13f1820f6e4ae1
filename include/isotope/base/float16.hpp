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

// What a GPU converts by itself: two blocks of PTX per type, float %1 to bits %0 and bits %1 to float %0.
#if defined(__CUDA_ARCH__)
#define ISOTOPE_F16_TO "cvt.rn.f16.f32 %0, %1;"
#define ISOTOPE_F16_FROM "cvt.f32.f16 %0, %1;"
#define ISOTOPE_BF16_TO "cvt.rn.bf16.f32 %0, %1;"
#define ISOTOPE_BF16_FROM "{ .reg .b16 zero; mov.b16 zero, 0; mov.b32 %0, {zero, %1}; }"
#define ISOTOPE_FP8_TO(type) "cvt.rn.satfinite." type "x2.f32 %0, 0f00000000, %1;"
#define ISOTOPE_FP8_FROM(type)              \
  "{ .reg .b32 pair; .reg .b16 low, high;"  \
  " cvt.rn.f16x2." type                     \
  "x2 pair, %1; mov.b32 {low, high}, pair;" \
  " cvt.f32.f16 %0, low; }"
#define ISOTOPE_CONVERT(name, arch, to, from)                                                           \
  ISOTOPE_HD constexpr std::uint32_t encode_##name(float value) {                                       \
    if (__CUDA_ARCH__ < arch || __builtin_is_constant_evaluated()) return Format_##name::encode(value); \
    std::uint16_t bits = 0;                                                                             \
    asm(to : "=h"(bits) : "f"(value));                                                                  \
    return bits;                                                                                        \
  }                                                                                                     \
  ISOTOPE_HD constexpr float decode_##name(std::uint32_t bits) {                                        \
    if (__CUDA_ARCH__ < arch || __builtin_is_constant_evaluated()) return Format_##name::decode(bits);  \
    float value = 0;                                                                                    \
    asm(from : "=f"(value) : "h"(static_cast<std::uint16_t>(bits)));                                    \
    return value;                                                                                       \
  }
#else
#define ISOTOPE_CONVERT(name, arch, to, from)                                                            \
  ISOTOPE_HD constexpr std::uint32_t encode_##name(float value) { return Format_##name::encode(value); } \
  ISOTOPE_HD constexpr float decode_##name(std::uint32_t bits) { return Format_##name::decode(bits); }
#endif  // __CUDA_ARCH__

// One body for the four types.
#define ISOTOPE_NARROW_FLOAT(name, word)                                                                       \
  struct name {                                                                                                \
    word bits;                                                                                                 \
    name() = default;                                                                                          \
    ISOTOPE_HD explicit constexpr name(float value) : bits(static_cast<word>(detail::encode_##name(value))) {} \
    ISOTOPE_HD explicit constexpr operator float() const { return detail::decode_##name(bits); }               \
    ISOTOPE_HD static constexpr name from_bits(word bits_) {                                                   \
      name value{};                                                                                            \
      value.bits = bits_;                                                                                      \
      return value;                                                                                            \
    }                                                                                                          \
  };                                                                                                           \
  static_assert(std::is_trivially_copyable_v<name> && sizeof(name) == sizeof(word))

namespace detail {

using Format_f16 = FloatFormat<5, 10, true, false>;
using Format_bf16 = FloatFormat<8, 7, true, false>;
using Format_e4m3 = FloatFormat<4, 3, false, true>;
using Format_e5m2 = FloatFormat<5, 2, true, true>;

ISOTOPE_CONVERT(f16, 750, ISOTOPE_F16_TO, ISOTOPE_F16_FROM)
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
ISOTOPE_CONVERT(bf16, 900, ISOTOPE_BF16_TO, ISOTOPE_BF16_FROM)
ISOTOPE_CONVERT(e4m3, 900, ISOTOPE_FP8_TO("e4m3"), ISOTOPE_FP8_FROM("e4m3"))
ISOTOPE_CONVERT(e5m2, 900, ISOTOPE_FP8_TO("e5m2"), ISOTOPE_FP8_FROM("e5m2"))
#else
ISOTOPE_CONVERT(bf16, 9999, "", "")
ISOTOPE_CONVERT(e4m3, 9999, "", "")
ISOTOPE_CONVERT(e5m2, 9999, "", "")
#endif  // sm_90

}  // namespace detail

ISOTOPE_NARROW_FLOAT(f16, std::uint16_t);
ISOTOPE_NARROW_FLOAT(bf16, std::uint16_t);
ISOTOPE_NARROW_FLOAT(e4m3, std::uint8_t);
ISOTOPE_NARROW_FLOAT(e5m2, std::uint8_t);

#undef ISOTOPE_NARROW_FLOAT
#undef ISOTOPE_CONVERT

template <class T>
inline constexpr bool is_narrow_float =
    std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>;

}  // namespace isotope
