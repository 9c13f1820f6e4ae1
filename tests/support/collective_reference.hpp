// What a reduction has to give: inputs of every type, seeded, and a judge that works in higher precision.
//
// Integers are exact. A sum of floats may be off by (n - 1) roundings of the type it is kept in (f32 for narrow floats,
// unless it is native), whatever its order, each at most u times the sum of magnitudes, and by one rounding to the
// element's type.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "isotope/isotope.hpp"
#include "support/mixer.hpp"

namespace isotope::testing {

inline constexpr DataType kTypes[] = {
#define X(name, type) DataType::name,
#include "isotope/base/data_types.def"
#undef X
};
inline constexpr ReduceOp kOps[] = {ReduceOp::add,    ReduceOp::min,     ReduceOp::max,      ReduceOp::bit_and,
                                    ReduceOp::bit_or, ReduceOp::bit_xor, ReduceOp::multiply, ReduceOp::average};

/// Calls body.template operator()<T>() for the C++ type of a DataType.
template <class F>
void visit_type(DataType type, F&& body) {
  switch (type) {
#define X(name, T)     \
  case DataType::name: \
    return body.template operator()<T>();
#include "isotope/base/data_types.def"
#undef X
  }
}

template <class T>
double number_of(T value) {
  if constexpr (is_narrow_float<T>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}
template <class T>
T of_number(double value) {
  if constexpr (is_narrow_float<T>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// How a float type rounds: u is half a step at 1, `least` half of the smallest number.
struct Rounding {
  double u, least;
};
template <class T>
constexpr Rounding rounding_of() {
  if constexpr (std::is_same_v<T, f16>) return {0x1p-11, 0x1p-25};
  if constexpr (std::is_same_v<T, bf16>) return {0x1p-8, 0x1p-134};
  if constexpr (std::is_same_v<T, e4m3>) return {0x1p-4, 0x1p-10};
  if constexpr (std::is_same_v<T, e5m2>) return {0x1p-3, 0x1p-17};
  if constexpr (std::is_same_v<T, float>) return {0x1p-24, 0x1p-150};
  return {0x1p-53, 0};
}

// Some of every kSpecials elements are special, the same on all members or on one of them.
inline constexpr std::size_t kSpecials = 32;

/// Element i of a member's input. Floats of a size that no sum or product of eight overflows the type; any integers.
template <class T>
T input_of(ReduceOp op, std::uint64_t seed, int member, std::size_t i) {
  Mixer random(seed * 1'000'003 + i * 64 + static_cast<std::uint64_t>(member));
  const std::uint64_t bits = random();
  if constexpr (!kFloat<T>) {
    return static_cast<T>(bits);
  } else {
    T ones{};
    std::memset(static_cast<void*>(&ones), 0xff, sizeof(T));
    const bool chosen = member == static_cast<int>(i / kSpecials % 3);
    const std::size_t at = i % kSpecials;
    if (at == 3 && chosen) return of_number<T>(std::nan(""));
    // A NaN of all ones among numbers, and words of nothing else.
    if (at == 5 || (at >= 8 && at < 16)) return ones;
    if (at == 17) return of_number<T>(-0.0);
    constexpr bool kSaturates = sizeof(T) == 1;
    if (at == 19 && chosen && !kSaturates)
      return of_number<T>(bits % 2 == 0 ? std::numeric_limits<double>::infinity()
                                        : -std::numeric_limits<double>::infinity());
    const double mantissa = 1 + static_cast<double>(bits >> 40) * 0x1p-24, sign = bits % 2 == 0 ? 1 : -1;
    if (op == ReduceOp::multiply) return of_number<T>(sign * (1 + (mantissa - 1) * 0.9));  // 1.9 to the 8th is 170
    return of_number<T>(sign * std::ldexp(mantissa, static_cast<int>(bits >> 8 & 7) - 3));
  }
}

/// Integers: the value, exactly.
template <class T>
T integer_reduced(ReduceOp op, Span<const T> in) {
  using Sum = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  std::uint64_t sum = 0, product = 1;
  T low = in[0], high = in[0], all = in[0], any = in[0], odd = 0;
  for (const T value : in) {
    sum += static_cast<std::uint64_t>(static_cast<Sum>(value));  // wraps at 64 bits
    product *= static_cast<std::uint64_t>(static_cast<Sum>(value));
    low = value < low ? value : low;
    high = value > high ? value : high;
    all = static_cast<T>(all & value);
    any = static_cast<T>(any | value);
    odd = static_cast<T>(odd ^ value);
  }
  switch (op) {
    case ReduceOp::add:
      return static_cast<T>(sum);
    case ReduceOp::multiply:
      return static_cast<T>(product);
    case ReduceOp::average:
      return static_cast<T>(static_cast<Sum>(sum) / static_cast<Sum>(in.size()));
    case ReduceOp::min:
      return low;
    case ReduceOp::max:
      return high;
    case ReduceOp::bit_and:
      return all;
    case ReduceOp::bit_or:
      return any;
    case ReduceOp::bit_xor:
      return odd;
  }
  return 0;
}

/// What one element has to be.
struct Reference {
  long double value = 0, bound = 0;  // of a float; a NaN as value: a NaN is expected
  bool minus = false;                // a zero is expected to be negative
  std::uint64_t bits = 0;            // of an integer
};

template <class T>
Reference float_reduced(ReduceOp op, Accumulate accumulate, Span<const T> in) {
  const auto n = static_cast<long double>(in.size());
  long double sum = 0, magnitude = 0, product = 1, low = NAN, high = NAN;
  bool all_minus = true, odd = false;
  for (const T element : in) {
    const long double value = number_of(element);
    sum += value;
    magnitude += std::fabs(value);
    product *= value;
    low = std::isnan(low) || value < low ? value : low;
    high = std::isnan(high) || value > high ? value : high;
    all_minus = all_minus && std::signbit(value) && value == 0;
    odd = odd != std::signbit(value);
  }
  if (op == ReduceOp::min || op == ReduceOp::max) return {op == ReduceOp::min ? low : high, 0, all_minus, 0};
  const Rounding last = rounding_of<T>();
  const bool wide = is_narrow_float<T> && accumulate == Accumulate::wide;
  const Rounding kept = wide ? rounding_of<float>() : last;
  Reference reference{sum, 0, all_minus, 0};
  if (op == ReduceOp::multiply) {
    reference = {product, 0, odd, 0};
    magnitude = std::fabs(product);
  }
  // 1.1: of the second order.
  long double lost = 1.1L * (n - 1) * (kept.u * magnitude + kept.least);
  if (op == ReduceOp::average) {
    reference.value /= n;
    lost = lost / n + kept.u * std::fabs(reference.value) + kept.least;
  }
  reference.bound = lost + last.u * (std::fabs(reference.value) + lost) + last.least;
  return reference;
}

template <class T>
Reference reference_of(ReduceOp op, Accumulate accumulate, Span<const T> in) {
  if constexpr (kFloat<T>) {
    return float_reduced(op, accumulate, in);
  } else {
    return {0, 0, false, static_cast<std::uint64_t>(integer_reduced(op, in))};
  }
}

/// What changes nothing: the first member's exclusive scan. A type without infinity has its largest number.
template <class T>
Reference identity_of(ReduceOp op) {
  if constexpr (kFloat<T>) {
    const double most = sizeof(T) > 1 ? std::numeric_limits<double>::infinity() : std::is_same_v<T, e4m3> ? 448 : 57344;
    return {op == ReduceOp::min ? most : op == ReduceOp::max ? -most : op == ReduceOp::multiply ? 1 : 0, 0, false, 0};
  } else {
    using Limits = std::numeric_limits<T>;
    const T value = op == ReduceOp::min        ? Limits::max()
                    : op == ReduceOp::max      ? Limits::min()
                    : op == ReduceOp::multiply ? T{1}
                    : op == ReduceOp::bit_and  ? static_cast<T>(~T{0})
                                               : T{0};
    return {0, 0, false, static_cast<std::uint64_t>(value)};
  }
}

template <class T>
bool matches(const Reference& reference, T found) {
  if constexpr (!kFloat<T>) {
    return static_cast<std::uint64_t>(found) == reference.bits;
  } else {
    const auto value = static_cast<long double>(number_of(found));
    if (std::isnan(reference.value)) return std::isnan(value);
    if (std::isinf(reference.value)) return value == reference.value;
    if (reference.value == 0 && reference.minus && !std::signbit(value)) return false;
    return std::fabs(value - reference.value) <= reference.bound;
  }
}

std::string difference_text(double found, double expected, double bound);
std::string difference_text(std::uint64_t found, std::uint64_t expected);

template <class T>
std::string difference(const Reference& reference, T found) {
  if constexpr (!kFloat<T>) return difference_text(static_cast<std::uint64_t>(found), reference.bits);
  return difference_text(number_of(found), static_cast<double>(reference.value), static_cast<double>(reference.bound));
}

}  // namespace isotope::testing
