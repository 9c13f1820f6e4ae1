// fold: many arrays into one, by all threads of a group. The inner loop of every reducing collective.
//
//   fold(group, r, team.size(), [&](int k) { return team.at(src, k); },      // in rank order: the same bits on every PE
//        team.size(), [&](int k) { return team.at(dst, k); }, count, team.size());
//
// Each element is read from all inputs before it is written to any output, by one thread: an output may be an input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "isotope/base/bits.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/device/group.hpp"
#include "isotope/platform/platform.hpp"

namespace isotope::detail {

/// Those who share out elements among themselves: the threads of a group, or of several.
struct Workers {
  std::uint32_t rank, count;
  ISOTOPE_HD std::uint32_t thread_rank() const { return rank; }
  ISOTOPE_HD std::uint32_t size() const { return count; }
};

/// The slice [begin, begin + count) of something that is shared out.
struct Slice {
  std::size_t begin, count;
};

/// Slice `index` of `parts` nearly equal ones of `count` elements, each beginning at a multiple of `unit`.
ISOTOPE_HD Slice slice_of(std::size_t count, int index, int parts, std::size_t unit) {
  const std::size_t units = (count + unit - 1) / unit;
  const auto n = static_cast<std::size_t>(parts), i = static_cast<std::size_t>(index);
  // A division of 64 bits takes a GPU as long as a look at memory.
  const std::size_t each = units <= 0xffffffffu ? static_cast<std::uint32_t>(units) / static_cast<std::uint32_t>(parts) : units / n;
  const std::size_t rest = units - each * n;
  const std::size_t first = (each * i + (i < rest ? i : rest)) * unit;
  const std::size_t size = (each + (i < rest ? 1 : 0)) * unit;
  const std::size_t begin = first < count ? first : count;
  return {begin, count - begin < size ? count - begin : size};
}

/// Bytes of partials that a thread makes at a time: of the nearest cache on a CPU, of registers on a GPU.
inline constexpr std::size_t kPartialBlock = platform::kIsGpu ? 64 : 2048;

ISOTOPE_HD bool aligned16(const void* p) { return (reinterpret_cast<std::uintptr_t>(p) & 15) == 0; }

/// One thread, elements [begin, begin + count) of its share, by blocks that stay in the nearest cache: partials are made
/// there, so that loops become vectors whatever overlaps outside.
template <class R, class In, class Out>
ISOTOPE_HD void fold_blocks(const R& r, int inputs, In in, int outputs, Out out, std::size_t begin, std::size_t count,
                            int members) {
  constexpr std::size_t kBlockBytes = 4096;
  alignas(64) char partials[kBlockBytes], elements[kBlockBytes];
  const std::size_t most = kBlockBytes / r.partial();
  const bool past_caches = count * r.element() * static_cast<std::size_t>(outputs) >= platform::past_caches_from(members).sums;
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
    for (int k = 1; k < inputs; ++k) r.more_word(partials, platform::load_wide<Bits128>(in(k) + word * 16));
    const auto result = r.template finish_word<Bits128>(partials, members);
    for (int k = 0; k < outputs; ++k) platform::store_wide(out(k) + word * 16, result);
  }
}

/// The same for a number of inputs and outputs that is known: all loads of `Deep` words are under way before the first sum.
template <int Inputs, int Outputs, int Deep, class R, class In, class Out>
ISOTOPE_HD void fold_words_of(const R& r, In in, Out out, std::size_t words, int members, std::uint32_t rank,
                              std::uint32_t size) {
  const char* from[Inputs];
  char* to[Outputs];
  ISOTOPE_UNROLL
  for (int k = 0; k < Inputs; ++k) from[k] = in(k);
  ISOTOPE_UNROLL
  for (int k = 0; k < Outputs; ++k) to[k] = out(k);
  for (std::size_t word = rank; word < words; word += static_cast<std::size_t>(Deep) * size) {
    Bits128 values[Deep][Inputs] = {};  // what is past the end is summed, and not stored
    ISOTOPE_UNROLL
    for (int i = 0; i < Deep; ++i) {
      const std::size_t at = word + static_cast<std::size_t>(i) * size;
      ISOTOPE_UNROLL
      for (int k = 0; k < Inputs; ++k) {
        if (at < words) values[i][k] = platform::load_wide<Bits128>(from[k] + at * 16);
      }
    }
    ISOTOPE_UNROLL
    for (int i = 0; i < Deep; ++i) {
      const std::size_t at = word + static_cast<std::size_t>(i) * size;
      typename R::template Partials<16> partials;
      r.widen_word(partials, values[i][0]);
      ISOTOPE_UNROLL
      for (int k = 1; k < Inputs; ++k) r.more_word(partials, values[i][k]);
      const auto result = r.template finish_word<Bits128>(partials, members);
      ISOTOPE_UNROLL
      for (int k = 0; k < Outputs; ++k) {
        if (at < words) platform::store_wide(to[k] + at * 16, result);
      }
    }
  }
}

/// By the usual numbers of members: eight loads of a thread under way.
template <class R, class In, class Out>
ISOTOPE_HD void fold_wide(const R& r, int inputs, In in, int outputs, Out out, std::size_t words, int members,
                          std::uint32_t rank, std::uint32_t size) {
  // Where the operation is a value too, each would be as long as all operations together.
  if constexpr (R::kOneOperation) {
#define ISOTOPE_FOLD(n)                                                                                         \
  if (inputs == n && outputs == n) return fold_words_of<n, n, 8 / n>(r, in, out, words, members, rank, size);   \
  if (inputs == n && outputs == 1) return fold_words_of<n, 1, 8 / n>(r, in, out, words, members, rank, size);
    ISOTOPE_FOLD(2)
    ISOTOPE_FOLD(4)
    ISOTOPE_FOLD(8)
#undef ISOTOPE_FOLD
  }
  fold_words(r, inputs, in, outputs, out, words, members, rank, size);
}

/// The same, one element at a time.
template <class R, class In, class Out>
ISOTOPE_HD void fold_elements(const R& r, int inputs, In in, int outputs, Out out, std::size_t begin, std::size_t count,
                              int members, std::uint32_t rank, std::uint32_t size) {
  using T = typename R::Element;
  for (std::size_t i = begin + rank; i < begin + count; i += size) {
    auto partial = r.widen_one(reinterpret_cast<const T*>(in(0))[i]);
    for (int k = 1; k < inputs; ++k)
      partial = r.combine_one(partial, r.widen_one(reinterpret_cast<const T*>(in(k))[i]));
    const T value = r.finish_one(partial, members);
    for (int k = 0; k < outputs; ++k) reinterpret_cast<T*>(out(k))[i] = value;
  }
}

/// out(k)[i] = in(0)[i] (op) in(1)[i] (op) ... for all k and i < count. `in` and `out` give byte addresses; `members` is what
/// an average divides by. `group` is a group or its Workers; it is not synchronised.
template <class G, class R, class In, class Out>
ISOTOPE_HD void fold(G group, const R& r, int inputs, In in, int outputs, Out out, std::size_t count, int members) {
  if constexpr (platform::kIsGpu) {
    bool wide = true;
    for (int k = 0; k < inputs; ++k) wide = wide && aligned16(in(k));
    for (int k = 0; k < outputs; ++k) wide = wide && aligned16(out(k));
    const std::size_t words = wide ? count * r.element() / 16 : 0, done = words * 16 / r.element();
    fold_wide(r, inputs, in, outputs, out, words, members, group.thread_rank(), group.size());
    fold_elements(r, inputs, in, outputs, out, done, count - done, members, group.thread_rank(), group.size());
  } else {
    const Slice mine = slice_of(count, static_cast<int>(group.thread_rank()), static_cast<int>(group.size()), 64);
    fold_blocks(r, inputs, in, outputs, out, mine.begin, mine.count, members);
  }
}

}  // namespace isotope::detail
