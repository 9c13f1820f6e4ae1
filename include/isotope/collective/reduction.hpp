// Reduction: how the elements of one type are combined by one operation. What the algorithms of the collectives work
// with.
//
//   Reduction<bf16, ReduceOp::add> r;
//   r.start(acc, a, b, n);  r.more(acc, c, n);  r.finish(out, acc, n, 3);  // out = a + b + c, in f32 until the end
//
// An algorithm takes a reduction as a parameter and sees bytes: `element` bytes each in memory, `partial` bytes each
// while they are summed. Partials of 16- and 8-bit floats are f32, of averages of integers 64 bits wide, of all else
// the type itself. collective/any_reduction.hpp is the same for types that are known at run time only. `count` may be a
// constant (std::integral_constant): the loops unroll then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "isotope/base/data_type.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/collective/lanes.hpp"
#include "isotope/device/combine.hpp"
#include "isotope/platform/platform.hpp"

namespace isotope {

/// Whether a type has an operation: floats have no bits.
constexpr bool reduces(DataType type, ReduceOp op) {
  return op != ReduceOp::bit_and && op != ReduceOp::bit_or && op != ReduceOp::bit_xor ? true : !is_float(type);
}

namespace detail {

// By bytes: a packet's words are no objects of V.
template <class V>
ISOTOPE_FLAT V element_at(const void* from, std::size_t i) {
  V value;
  std::memcpy(&value, static_cast<const char*>(__builtin_assume_aligned(from, alignof(V))) + i * sizeof(V), sizeof(V));
  return value;
}
template <class V>
ISOTOPE_FLAT void set_element(void* to, std::size_t i, V value) {
  std::memcpy(static_cast<char*>(__builtin_assume_aligned(to, alignof(V))) + i * sizeof(V), &value, sizeof(V));
}

/// What `Op` of T is kept in until the end.
template <class T, ReduceOp Op, Accumulate A>
using PartialOf = std::conditional_t<std::is_integral_v<T> && Op == ReduceOp::average,
                                     std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                                     std::conditional_t<is_narrow_float<T> && A == Accumulate::wide, float, T>>;

/// The loops, for a reduction R that knows what to do with one element. Partials overlap no input.
template <class R, class T, class P>
class ReductionLoops {
 public:
  using Element = T;
  using Partial = P;

  static constexpr std::size_t element() { return sizeof(T); }
  static constexpr std::size_t partial() { return sizeof(P); }
  static constexpr DataType type() { return data_type_of<T>; }
  /// How many elements `Bytes` bytes are, and room for their partials.
  template <int Bytes>
  static constexpr auto lanes() {
    return std::integral_constant<std::size_t, Bytes / sizeof(T)>{};
  }
  template <int Bytes>
  struct Partials {
    P values[Bytes / static_cast<int>(sizeof(T)) + (Bytes < static_cast<int>(sizeof(T)) ? 1 : 0)];
    ISOTOPE_HD void* data() { return values; }
  };

  /// partials = a
  template <class N>
  ISOTOPE_FLAT void widen(void* __restrict partials, const void* __restrict a, N count) const {
    ISOTOPE_GPU_UNROLL
    for (std::size_t i = 0; i < count; ++i) set_element(partials, i, widen_one(element_at<T>(a, i)));
  }
  /// partials = a (op) b
  template <class N>
  ISOTOPE_FLAT void start(void* __restrict partials, const void* a, const void* b, N count) const {
    ISOTOPE_GPU_UNROLL
    for (std::size_t i = 0; i < count; ++i)
      set_element(partials, i, self().combine_one(widen_one(element_at<T>(a, i)), widen_one(element_at<T>(b, i))));
  }
  /// partials = partials (op) a
  template <class N>
  ISOTOPE_FLAT void more(void* __restrict partials, const void* __restrict a, N count) const {
    ISOTOPE_GPU_UNROLL
    for (std::size_t i = 0; i < count; ++i)
      set_element(partials, i, self().combine_one(element_at<P>(partials, i), widen_one(element_at<T>(a, i))));
  }
  /// partials = partials (op) others, which are partials too
  template <class N>
  ISOTOPE_FLAT void join(void* __restrict partials, const void* __restrict others, N count) const {
    ISOTOPE_GPU_UNROLL
    for (std::size_t i = 0; i < count; ++i)
      set_element(partials, i, self().combine_one(element_at<P>(partials, i), element_at<P>(others, i)));
  }
  /// out = partials, as elements; of an average, divided by `members`.
  template <class N>
  ISOTOPE_FLAT void finish(void* __restrict out, const void* __restrict partials, N count, int members) const {
    ISOTOPE_GPU_UNROLL
    for (std::size_t i = 0; i < count; ++i) set_element(out, i, self().finish_one(element_at<P>(partials, i), members));
  }
  /// out = what leaves every value as it is: 0 for sums, the largest value for min, ...
  template <class N>
  ISOTOPE_FLAT void identity(void* out, N count) const {
    const T value = self().identity_one();
    ISOTOPE_GPU_UNROLL
    for (std::size_t i = 0; i < count; ++i) set_element(out, i, value);
  }
  ISOTOPE_FLAT static P widen_one(T value) { return static_cast<P>(value); }

  // The same for the elements of one word. On a GPU word and partials stay in registers.
  template <class Word, int Bytes = static_cast<int>(sizeof(Word))>
  ISOTOPE_FLAT void widen_word(Partials<Bytes>& partials, const Word& a) const {
    if constexpr (kInRegisters<Word>) {
      ISOTOPE_UNROLL
      for (std::size_t i = 0; i < lanes<Bytes>(); ++i) partials.values[i] = widened_lane<P, T>(a, i);
    } else {
      widen(partials.values, &a, lanes<Bytes>());
    }
  }
  template <class Word, int Bytes = static_cast<int>(sizeof(Word))>
  ISOTOPE_FLAT void more_word(Partials<Bytes>& partials, const Word& a) const {
    if constexpr (kInRegisters<Word>) {
      ISOTOPE_UNROLL
      for (std::size_t i = 0; i < lanes<Bytes>(); ++i)
        partials.values[i] = self().combine_one(partials.values[i], widened_lane<P, T>(a, i));
    } else {
      more(partials.values, &a, lanes<Bytes>());
    }
  }
  template <class Word, int Bytes = static_cast<int>(sizeof(Word))>
  ISOTOPE_FLAT Word finish_word(const Partials<Bytes>& partials, int members) const {
    Word word{};
    if constexpr (kInRegisters<Word> && sizeof(T) == 2 && lanes<Bytes>() % 2 == 0) {
      ISOTOPE_UNROLL
      for (std::size_t i = 0; i < lanes<Bytes>(); i += 2)
        set_lanes(word, i / 2, self().finish_one(partials.values[i], members),
                  self().finish_one(partials.values[i + 1], members));
    } else if constexpr (kInRegisters<Word>) {
      ISOTOPE_UNROLL
      for (std::size_t i = 0; i < lanes<Bytes>(); ++i)
        set_lane(word, i, self().finish_one(partials.values[i], members));
    } else {
      finish(&word, partials.values, lanes<Bytes>(), members);
    }
    return word;
  }

 private:
  /// A CPU makes vectors of loops over memory.
  template <class Word>
  static constexpr bool kInRegisters = platform::kIsGpu && kHasLanes<Word>;

  ISOTOPE_FLAT const R& self() const { return static_cast<const R&>(*this); }
};

/// a (op) b, as partials.
template <ReduceOp Op, class P>
ISOTOPE_FLAT P combine_partials(P a, P b) {
  if constexpr (is_narrow_float<P>) {
    return P(combine_plain<Op>(static_cast<float>(a), static_cast<float>(b)));
  } else {
    return combine_plain<Op>(a, b);
  }
}

template <class T, class P>
ISOTOPE_FLAT T average_of(P sum, int members) {
  if constexpr (is_narrow_float<P>) {
    return T(static_cast<float>(sum) / static_cast<float>(members));
  } else {
    return static_cast<T>(sum / static_cast<P>(members));
  }
}

/// What leaves every value of T as it is. A format without infinity takes its largest value.
template <class T, ReduceOp Op>
ISOTOPE_FLAT T identity_of() {
  if constexpr (Op == ReduceOp::multiply) {
    return static_cast<T>(1.0f);
  } else if constexpr (Op == ReduceOp::min || Op == ReduceOp::max) {
    constexpr bool kMin = Op == ReduceOp::min;
    if constexpr (std::is_integral_v<T>) {
      constexpr auto kOnes = static_cast<std::make_unsigned_t<T>>(~std::make_unsigned_t<T>{0});
      constexpr T kLargest = static_cast<T>(std::is_signed_v<T> ? kOnes >> 1 : kOnes);
      return kMin ? kLargest : static_cast<T>(~kLargest);
    } else if constexpr (std::is_same_v<T, double>) {
      const double infinity = bit_cast<double>(std::uint64_t{0x7ff0} << 48);
      return kMin ? infinity : -infinity;
    } else {
      const float infinity = bit_cast<float>(0x7f800000u);
      return static_cast<T>(kMin ? infinity : -infinity);
    }
  } else if constexpr (Op == ReduceOp::bit_and) {
    return static_cast<T>(~T{0});
  } else {
    return static_cast<T>(0.0f);
  }
}

}  // namespace detail

template <class T, ReduceOp Op, Accumulate A = Accumulate::wide>
class Reduction : public detail::ReductionLoops<Reduction<T, Op, A>, T, detail::PartialOf<T, Op, A>> {
 public:
  static_assert(reduces(data_type_of<T>, Op), "this operation is not one of this type");
  using Partial = detail::PartialOf<T, Op, A>;

  /// Whether the operation is known when compiling.
  static constexpr bool kOneOperation = true;
  static constexpr Accumulate kAccumulate = A;
  static constexpr ReduceOp op() { return Op; }
  /// Whether partials are the elements already.
  static constexpr bool finish_is_copy() { return std::is_same_v<T, Partial> && Op != ReduceOp::average; }

  ISOTOPE_FLAT static Partial combine_one(Partial a, Partial b) { return detail::combine_partials<Op>(a, b); }
  ISOTOPE_FLAT static T finish_one(Partial sum, int members) {
    if constexpr (Op == ReduceOp::average) {
      return detail::average_of<T>(sum, members);
    } else {
      return static_cast<T>(sum);
    }
  }
  ISOTOPE_FLAT static T identity_one() { return detail::identity_of<T, Op>(); }
};

}  // namespace isotope
