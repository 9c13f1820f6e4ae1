// The narrow floats against a reference that shares nothing with them: ldexp for decoding, a search of the two
// neighbours among all values of the type for encoding.
#include "isotope/base/float16.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace isotope {
namespace {

/// A type as its paper says it is.
struct Description {
  int exponent_bits, mantissa_bits;
  bool infinity;   // the highest exponent holds infinity and NaN; otherwise all ones alone is NaN
  bool saturates;  // what is too large becomes the largest number
  double largest, smallest;
};
template <class T>
constexpr Description kDescription{};
template <>
constexpr Description kDescription<f16>{5, 10, true, false, 65504, 0x1p-24};
template <>
constexpr Description kDescription<bf16>{8, 7, true, false, 0x1.fep127, 0x1p-133};
template <>
constexpr Description kDescription<e4m3>{4, 3, false, true, 448, 0x1p-9};
template <>
constexpr Description kDescription<e5m2>{5, 2, true, true, 57344, 0x1p-16};

template <class T>
class Float16 : public ::testing::Test {
 protected:
  using Bits = decltype(T::bits);
  static constexpr Description kType = kDescription<T>;
  static constexpr std::uint32_t kSign = 1u << (kType.exponent_bits + kType.mantissa_bits);

  static double decode(std::uint32_t bits) {
    const int field = static_cast<int>(bits % kSign) >> kType.mantissa_bits;
    const int mantissa = static_cast<int>(bits) & ((1 << kType.mantissa_bits) - 1);
    const int bias = (1 << (kType.exponent_bits - 1)) - 1, top = (1 << kType.exponent_bits) - 1;
    double value = 0;
    if (kType.infinity && field == top) {
      value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    } else if (!kType.infinity && field == top && mantissa == (1 << kType.mantissa_bits) - 1) {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (field == 0) {
      value = std::ldexp(mantissa, 1 - bias - kType.mantissa_bits);
    } else {
      value = std::ldexp(mantissa + (1 << kType.mantissa_bits), field - bias - kType.mantissa_bits);
    }
    return (bits & kSign) != 0 ? -value : value;
  }

  /// All finite values from zero up; the index of each is its bits.
  static const std::vector<double>& values() {
    static const std::vector<double> all = [] {
      std::vector<double> list;
      for (std::uint32_t bits = 0; std::isfinite(decode(bits)); ++bits) list.push_back(decode(bits));
      return list;
    }();
    return all;
  }

  /// The bits of a number, by the search.
  static std::uint32_t encode(float value) {
    const std::uint32_t sign = std::signbit(value) ? kSign : 0;
    const double x = std::fabs(static_cast<double>(value));
    const auto largest = static_cast<std::uint32_t>(values().size() - 1);
    if (x >= values().back()) {
      if (kType.saturates) return sign | largest;
      // The number after the largest one would be `step` on; half of the way there rounds to it, to even.
      const double step = values()[largest] - values()[largest - 1];
      return sign | (x - values().back() >= step / 2 ? largest + 1 : largest);
    }
    const auto above =
        static_cast<std::uint32_t>(std::upper_bound(values().begin(), values().end(), x) - values().begin());
    const double up = values()[above] - x, down = x - values()[above - 1];
    if (up == down) return sign | (above % 2 == 0 ? above : above - 1);
    return sign | (up < down ? above : above - 1);
  }

  static void expect_encoded(float value) { ASSERT_EQ(T(value).bits, encode(value)) << std::hexfloat << value; }
  static bool is_nan(T value) { return std::isnan(decode(value.bits)); }
};
using Types = ::testing::Types<f16, bf16, e4m3, e5m2>;
TYPED_TEST_SUITE(Float16, Types);

TYPED_TEST(Float16, ReferenceKnowsTheLimits) {
  using F = Float16<TypeParam>;
  EXPECT_EQ(F::values().back(), F::kType.largest);
  EXPECT_EQ(F::values()[1], F::kType.smallest);
}

TYPED_TEST(Float16, DecodesEveryPattern) {
  using F = Float16<TypeParam>;
  for (std::uint32_t bits = 0; bits < 2 * F::kSign; ++bits) {
    const auto value = static_cast<float>(TypeParam::from_bits(static_cast<typename F::Bits>(bits)));
    const double expected = F::decode(bits);
    ASSERT_EQ(std::signbit(value), (bits & F::kSign) != 0) << bits;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
    }
  }
}

TYPED_TEST(Float16, EncodesEveryPatternBack) {
  using F = Float16<TypeParam>;
  for (std::uint32_t bits = 0; bits < 2 * F::kSign; ++bits) {
    const auto value = TypeParam::from_bits(static_cast<typename F::Bits>(bits));
    const TypeParam again(static_cast<float>(value));
    const double number = F::decode(bits);
    if (std::isnan(number)) {
      ASSERT_TRUE(F::is_nan(again)) << bits;
      ASSERT_EQ(again.bits & F::kSign, bits & F::kSign) << bits;
    } else if (std::isinf(number) && F::kType.saturates) {
      ASSERT_EQ(F::decode(again.bits), std::copysign(F::kType.largest, number));
    } else {
      ASSERT_EQ(again.bits, bits);
    }
  }
}

// Every place where the outcome changes: half way between neighbours, the neighbours, and the floats beside them.
TYPED_TEST(Float16, RoundsToNearestEven) {
  using F = Float16<TypeParam>;
  const std::vector<double>& all = F::values();
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const auto middle = static_cast<float>((all[i] + all[i + 1]) / 2);
    ASSERT_EQ(static_cast<double>(middle), (all[i] + all[i + 1]) / 2) << "float has no such middle";
    for (const float x : {static_cast<float>(all[i]), middle}) {
      for (const float y : {x, std::nextafterf(x, -1.0f), std::nextafterf(x, INFINITY)}) {
        F::expect_encoded(y);
        F::expect_encoded(-y);
      }
    }
  }
}

TYPED_TEST(Float16, OverflowsAsItsTypeDoes) {
  using F = Float16<TypeParam>;
  const auto largest = static_cast<float>(F::kType.largest);
  const double step = F::values().back() - F::values()[F::values().size() - 2];
  const auto half_way = static_cast<float>(F::kType.largest + step / 2);
  for (const float x : {largest, std::nextafterf(largest, INFINITY), std::nextafterf(half_way, 0.0f), half_way,
                        std::nextafterf(half_way, INFINITY), std::numeric_limits<float>::max()}) {
    F::expect_encoded(x);
    F::expect_encoded(-x);
  }
  const double beyond = F::kType.saturates ? F::kType.largest : INFINITY;
  for (const float x : {half_way, std::numeric_limits<float>::max(), INFINITY}) {
    EXPECT_EQ(F::decode(TypeParam(x).bits), beyond);
    EXPECT_EQ(F::decode(TypeParam(-x).bits), -beyond);
  }
  EXPECT_EQ(F::decode(TypeParam(std::nextafterf(half_way, 0.0f)).bits), F::kType.largest);
}

TYPED_TEST(Float16, KeepsNotANumber) {
  using F = Float16<TypeParam>;
  for (std::uint32_t payload = 1; payload < 1u << 23; payload += payload < 4096 ? 1 : 4093) {
    for (const std::uint32_t sign : {0u, 1u << 31}) {
      const TypeParam value(bit_cast<float>(sign | 0x7f800000u | payload));
      ASSERT_TRUE(F::is_nan(value)) << payload;
      ASSERT_EQ((value.bits & F::kSign) != 0, sign != 0);
      ASSERT_TRUE(std::isnan(static_cast<float>(value)));
    }
  }
}

TYPED_TEST(Float16, KeepsTheSignOfZeroAndOfWhatVanishes) {
  using F = Float16<TypeParam>;
  EXPECT_EQ(TypeParam(0.0f).bits, 0u);
  EXPECT_EQ(TypeParam(-0.0f).bits, F::kSign);
  EXPECT_TRUE(std::signbit(static_cast<float>(TypeParam(-0.0f))));
  const auto half = static_cast<float>(F::kType.smallest / 2);
  for (const float x : {half, std::nextafterf(half, 0.0f), std::numeric_limits<float>::denorm_min()}) {
    EXPECT_EQ(TypeParam(x).bits, 0u) << std::hexfloat << x;
    EXPECT_EQ(TypeParam(-x).bits, F::kSign) << std::hexfloat << x;
  }
  EXPECT_EQ(TypeParam(std::nextafterf(half, 1.0f)).bits, 1u);
  EXPECT_EQ(TypeParam(-std::nextafterf(half, 1.0f)).bits, F::kSign | 1u);
}

TYPED_TEST(Float16, EncodesRandomFloats) {
  using F = Float16<TypeParam>;
  std::mt19937 random(20240611);
  const int bias = (1 << (F::kType.exponent_bits - 1)) - 1;
  const int lowest =
      125 - bias - F::kType.mantissa_bits;  // an exponent field of float below the type's smallest number
  for (int i = 0; i < 500'000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    const float anything = bit_cast<float>(bits);
    if (!std::isnan(anything)) F::expect_encoded(anything);
    // Most floats are out of an 8-bit type's range; these are not.
    const auto field = static_cast<std::uint32_t>(std::max(0, lowest) + static_cast<int>(random() % (2u * bias + 8u)));
    if (field < 255) F::expect_encoded(bit_cast<float>((bits & 0x807fffffu) | field << 23));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// Constants are made by the compiler, from the same code.
static_assert(f16(1.5f).bits == 0x3e00 && static_cast<float>(f16::from_bits(0x3e00)) == 1.5f);
static_assert(bf16(1.5f).bits == 0x3fc0 && static_cast<float>(bf16::from_bits(0x3fc0)) == 1.5f);
static_assert(e4m3(1.5f).bits == 0x3c && static_cast<float>(e4m3::from_bits(0x3c)) == 1.5f);
static_assert(e5m2(1.5f).bits == 0x3e && static_cast<float>(e5m2::from_bits(0x3e)) == 1.5f);
static_assert(is_narrow_float<f16> && is_narrow_float<e5m2> && !is_narrow_float<float>);

}  // namespace
}  // namespace isotope
