// fold: many arrays into one, by all threads of a group. The inner loop of every reducing collective.
//
//   // In rank order: the same bits on every PE.
//   fold(group, r, team.size(), [&](int k) { return team.at(src, k); },
//        team.size(), [&](int k) { return team.at(dst, k); }, count, team.size());
//
// Each element is read from all inputs before it is written to any output, by one thread: an output may be an input.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "isotope/base/bits.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/base/order.hpp"
#include "isotope/device/group.hpp"
#include "isotope/platform/platform.hpp"

namespace isotope::detail {

/// Those who share out elements among themselves: the threads of a group, or of several.
struct Workers {
  std::uint32_t rank, count;
  ISOTOPE_HD std::uint32_t thread_rank() const { return rank; }
  ISOTOPE_HD std::uint32_t size() const { return count; }
};

/// Where a fold has one output, and its caller knows.
inline constexpr std::integral_constant<int, 1> kOneOutput{};

/// The slice [begin, begin + count) of something that is shared out.
struct Slice {
  std::size_t begin, count;
};

/// Slice `index` of `parts` nearly equal ones of `count` elements, each beginning at a multiple of `unit`.
ISOTOPE_HD Slice slice_of(std::size_t count, int index, int parts, std::size_t unit) {
  const std::size_t units = (count + unit - 1) / unit;
  const auto n = static_cast<std::size_t>(parts), i = static_cast<std::size_t>(index);
  // A division of 64 bits takes a GPU as long as a look at memory.
  const std::size_t each =
      units <= 0xffffffffu ? static_cast<std::uint32_t>(units) / static_cast<std::uint32_t>(parts) : units / n;
  const std::size_t rest = units - each * n;
  const std::size_t first = (each * i + (i < rest ? i : rest)) * unit;
  const std::size_t size = (each + (i < rest ? 1 : 0)) * unit;
  const std::size_t begin = first < count ? first : count;
  return {begin, count - begin < size ? count - begin : size};
}

/// Bytes of partials that a thread makes at a time: of the nearest cache on a CPU, of registers on a GPU.
inline constexpr std::size_t kPartialBlock = platform::kIsGpu ? 64 : 2048;

ISOTOPE_HD bool aligned16(const void* p) { return (reinterpret_cast<std::uintptr_t>(p) & 15) == 0; }

/// One thread, elements [begin, begin + count) of its share, by blocks that stay in the nearest cache: partials are
/// made there, so that loops become vectors whatever overlaps outside.
template <class R, class In, class Out>
ISOTOPE_HD void fold_blocks(const R& r, int inputs, In in, int outputs, Out out, std::size_t begin, std::size_t count,
                            int members) {
  constexpr std::size_t kBlockBytes = 4096;
  alignas(64) char partials[kBlockBytes], elements[kBlockBytes];
  const std::size_t most = kBlockBytes / r.partial();
  const bool past_caches =
      count * r.element() * static_cast<std::size_t>(outputs) >= platform::past_caches_from(members).sums;
  for (std::size_t at = begin, end = begin + count; at < end; at += most) {
    const std::size_t n = end - at < most ? end - at : most, offset = at * r.element();
    if (inputs == 1) {
      r.widen(partials, in(0) + offset, n);
    } else {
      r.start(partials, in(0) + offset, in(1) + offset, n);
    }
    for (int k = 2; k < inputs; ++k) r.more(partials, in(k) + offset, n);
    const char* result = partials;
    if (!r.finish_is_copy()) {
      r.finish(elements, partials, n, members);
      result = elements;
    }
    for (int k = 0; k < outputs; ++k) {
      if (past_caches) {
        platform::copy_past_caches(out(k) + offset, result, n * r.element());
      } else {
        std::memcpy(out(k) + offset, result, n * r.element());
      }
    }
  }
  if (past_caches) platform::end_copies_past_caches();
}

/// One thread, 16 bytes at a time with partials in registers; neighbouring threads take neighbouring words.
template <class R, class In, class Out>
ISOTOPE_HD void fold_words(const R& r, int inputs, In in, int outputs, Out out, std::size_t words, int members,
                           std::uint32_t rank, std::uint32_t size) {
  for (std::size_t word = rank; word < words; word += size) {
    typename R::template Partials<16> partials;
    r.widen_word(partials, platform::load_wide<Bits128>(in(0) + word * 16));
    ISOTOPE_GPU_ROLLED
    for (int k = 1; k < inputs; ++k) r.more_word(partials, platform::load_wide<Bits128>(in(k) + word * 16));
    const auto result = r.template finish_word<Bits128>(partials, members);
    ISOTOPE_GPU_ROLLED
    for (int k = 0; k < outputs; ++k) platform::store_wide(out(k) + word * 16, result);
  }
}

/// The same, one element at a time. `Inputs` and `Outputs` are numbers, or constants.
template <class R, class Inputs, class In, class Outputs, class Out>
ISOTOPE_HD void fold_elements(const R& r, Inputs inputs, In in, Outputs outputs, Out out, std::size_t begin,
                              std::size_t count, int members, std::uint32_t rank, std::uint32_t size) {
  using T = typename R::Element;
  for (std::size_t i = begin + rank; i < begin + count; i += size) {
    auto partial = r.widen_one(reinterpret_cast<const T*>(in(0))[i]);
    ISOTOPE_GPU_UNROLL
    for (int k = 1; k < inputs; ++k)
      partial = r.combine_one(partial, r.widen_one(reinterpret_cast<const T*>(in(k))[i]));
    const T value = r.finish_one(partial, members);
    ISOTOPE_GPU_UNROLL
    for (int k = 0; k < outputs; ++k) reinterpret_cast<T*>(out(k))[i] = value;
  }
}

/// One thread of a GPU, for any number of inputs and outputs.
template <class R, class In, class Out>
ISOTOPE_HD void fold_any(const R& r, int inputs, In in, int outputs, Out out, std::size_t count, int members,
                         std::uint32_t rank, std::uint32_t size) {
  bool wide = true;
  ISOTOPE_GPU_ROLLED
  for (int k = 0; k < inputs; ++k) wide = wide && aligned16(in(k));
  ISOTOPE_GPU_ROLLED
  for (int k = 0; k < outputs; ++k) wide = wide && aligned16(out(k));
  const std::size_t words = wide ? count * r.element() / 16 : 0, done = words * 16 / r.element();
  fold_words(r, inputs, in, outputs, out, words, members, rank, size);
  fold_elements(r, inputs, in, outputs, out, done, count - done, members, rank, size);
}

/// Whether a reduction is known to be a sum when compiling.
template <class R>
constexpr bool is_sum() {
  if constexpr (R::kOneOperation) {
    return R::op() == ReduceOp::add;
  } else {
    return false;
  }
}

/// a + b, element by element. Of 16-bit floats these are the bits that a sum in f32 gives, which has more than twice
/// their digits: when it is rounded again there is nothing left that the first rounding could have spoilt.
template <class T>
ISOTOPE_HD Bits128 add_by_pairs(const Bits128& a, const Bits128& b) {
  const auto half = [](std::uint64_t x, std::uint64_t y) {
    const std::uint32_t low = platform::add_pair<T>(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y));
    const std::uint32_t high =
        platform::add_pair<T>(static_cast<std::uint32_t>(x >> 32), static_cast<std::uint32_t>(y >> 32));
    return low | static_cast<std::uint64_t>(high) << 32;
  };
  return {half(a.low, b.low), half(a.high, b.high)};
}

/// One word of each input, their elements combined in the inputs' order.
template <int Inputs, class R>
ISOTOPE_HD Bits128 fold_word(const R& r, const Bits128 (&values)[Inputs], int members) {
  if constexpr (Inputs == 2 && is_sum<R>()) {
    if constexpr (platform::kAddsPairs<typename R::Element>)
      return add_by_pairs<typename R::Element>(values[0], values[1]);
  }
  typename R::template Partials<16> partials;
  r.widen_word(partials, values[0]);
  ISOTOPE_UNROLL
  for (int k = 1; k < Inputs; ++k) r.more_word(partials, values[k]);
  return r.template finish_word<Bits128>(partials, members);
}

/// The inputs and outputs of a fold whose numbers are known, each looked up once.
template <int Inputs, int Outputs>
struct KnownArrays {
  const char* from[Inputs];
  char* to[Outputs];

  template <class In, class Out>
  ISOTOPE_HD KnownArrays(In in, Out out) {
    ISOTOPE_UNROLL
    for (int k = 0; k < Inputs; ++k) from[k] = in(k);
    ISOTOPE_UNROLL
    for (int k = 0; k < Outputs; ++k) to[k] = out(k);
  }
  ISOTOPE_HD bool aligned() const {
    std::uintptr_t bits = 0;
    ISOTOPE_UNROLL
    for (int k = 0; k < Inputs; ++k) bits |= reinterpret_cast<std::uintptr_t>(from[k]);
    ISOTOPE_UNROLL
    for (int k = 0; k < Outputs; ++k) bits |= reinterpret_cast<std::uintptr_t>(to[k]);
    return (bits & 15) == 0;
  }

  /// One thread's words from `word` on, each `size` after the one before: `Deep` at a time, and what is left by fewer.
  template <int Deep, class R>
  ISOTOPE_HD void fold_words(const R& r, std::size_t words, int members, std::size_t word, std::uint32_t size) const {
    for (; word + static_cast<std::size_t>(Deep - 1) * size < words; word += static_cast<std::size_t>(Deep) * size)
      fold_row<Deep>(r, words, members, word, size);
    if constexpr (Deep > 1) fold_words<Deep / 2>(r, words, members, word, size);
  }

 private:
  /// All loads are under way before the first sum. No word of a row is past the end: conditions between loads may
  /// become branches.
  template <int Deep, class R>
  ISOTOPE_HD void fold_row(const R& r, std::size_t words, int members, std::size_t word, std::uint32_t size) const {
    Bits128 values[Deep][Inputs];
    ISOTOPE_UNROLL
    for (int i = 0; i < Deep; ++i) {
      ISOTOPE_UNROLL
      for (int k = 0; k < Inputs; ++k)
        values[i][k] = platform::load_once<Bits128>(from[k] + (word + static_cast<std::size_t>(i) * size) * 16);
    }
    ISOTOPE_UNROLL
    for (int i = 0; i < Deep; ++i) {
      const std::size_t at = word + static_cast<std::size_t>(i) * size;
      if (i > 0 && at >= words)
        continue;  // never, which a compiler cannot know: so it does not hold back the stores until the last sum
      const Bits128 result = fold_word(r, values[i], members);
      ISOTOPE_UNROLL
      for (int k = 0; k < Outputs; ++k) platform::store_once(to[k] + at * 16, result);
    }
  }
};

/// One thread of a GPU, for numbers that are known: eight loads under way.
template <int Inputs, int Outputs, class R, class In, class Out>
ISOTOPE_HD void fold_known(const R& r, In in, Out out, std::size_t count, int members, std::uint32_t rank,
                           std::uint32_t size) {
  const KnownArrays<Inputs, Outputs> arrays(in, out);
  const std::size_t words = arrays.aligned() ? count * r.element() / 16 : 0, done = words * 16 / r.element();
  arrays.template fold_words<8 / Inputs>(r, words, members, rank, size);
  fold_elements(
      r, std::integral_constant<int, Inputs>{}, [&](int k) { return arrays.from[k]; },
      std::integral_constant<int, Outputs>{}, [&](int k) { return arrays.to[k]; }, done, count - done, members, rank,
      size);
}

/// One thread of a GPU: by code of its own for the usual numbers of members. Where it is known that there is one
/// output, there is none for more.
template <class R, class In, class Outputs, class Out>
ISOTOPE_HD void fold_on_gpu(const R& r, int inputs, In in, Outputs outputs, Out out, std::size_t count, int members,
                            std::uint32_t rank, std::uint32_t size) {
  // Where the operation is a value too, each would be as long as all operations together.
  if constexpr (R::kOneOperation) {
    constexpr bool kOne = std::same_as<Outputs, std::remove_const_t<decltype(kOneOutput)>>;
    static_assert(kOne || std::same_as<Outputs, int>);
#define ISOTOPE_FOLD(n)                                                                               \
  if constexpr (kOne) {                                                                               \
    if (inputs == n) return fold_known<n, 1>(r, in, out, count, members, rank, size);                 \
  } else {                                                                                            \
    if (inputs == n && outputs == n) return fold_known<n, n>(r, in, out, count, members, rank, size); \
  }
    ISOTOPE_FOLD(2)
    ISOTOPE_FOLD(4)
    ISOTOPE_FOLD(8)
#undef ISOTOPE_FOLD
  }
  fold_any(r, inputs, in, outputs, out, count, members, rank, size);
}

/// out(k)[i] = in(0)[i] (op) in(1)[i] (op) ... for all k and i < count. `in` and `out` give byte addresses; `members`
/// is what an average divides by. `outputs` is a number, or kOneOutput. `group` is a group or its Workers; it is not
/// synchronised.
template <class G, class R, class In, class Outputs, class Out>
ISOTOPE_HD void fold(G group, const R& r, int inputs, In in, Outputs outputs, Out out, std::size_t count, int members) {
  if constexpr (platform::kIsGpu) {
    fold_on_gpu(r, inputs, in, outputs, out, count, members, group.thread_rank(), group.size());
  } else {
    const Slice mine = slice_of(count, static_cast<int>(group.thread_rank()), static_cast<int>(group.size()), 64);
    fold_blocks(r, inputs, in, outputs, out, mine.begin, mine.count, members);
  }
}

}  // namespace isotope::detail
