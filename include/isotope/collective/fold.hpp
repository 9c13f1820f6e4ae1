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

/// The slice [begin, begin + count) of something that is shared out.
struct Slice {
  std::size_t begin, count;
};

/// Slice `index` of `parts` nearly equal ones of `count` elements, each beginning at a multiple of `unit`.
ISOTOPE_HD Slice slice_of(std::size_t count, int index, int parts, std::size_t unit) {
  const std::size_t units = (count + unit - 1) / unit;
  const auto n = static_cast<std::size_t>(parts), i = static_cast<std::size_t>(index);
  const std::size_t each = units / n, rest = units % n;
  const std::size_t first = (each * i + (i < rest ? i : rest)) * unit;
  const std::size_t size = (each + (i < rest ? 1 : 0)) * unit;
  const std::size_t begin = first < count ? first : count;
  return {begin, count - begin < size ? count - begin : size};
}

/// Bytes of partials that a thread makes at a time: of the nearest cache on a CPU, of registers on a GPU.
inline constexpr std::size_t kPartialBlock = platform::kIsGpu ? 64 : 2048;

ISOTOPE_HD bool aligned16(const void* p) { return (reinterpret_cast<std::uintptr_t>(p) & 15) == 0; }

/// A PE that writes this much in one call writes past the caches.
inline constexpr std::size_t kPastCaches = std::size_t{8} << 20;

/// One thread, elements [begin, begin + count) of its share, by blocks that stay in the nearest cache: partials are made
/// there, so that loops become vectors whatever overlaps outside.
template <class R, class In, class Out>
ISOTOPE_HD void fold_blocks(const R& r, int inputs, In in, int outputs, Out out, std::size_t begin, std::size_t count,
                            int members) {
  constexpr std::size_t kBlockBytes = 4096;
  alignas(64) char partials[kBlockBytes], elements[kBlockBytes];
  const std::size_t most = kBlockBytes / r.partial();
  const bool past_caches = count * r.element() * static_cast<std::size_t>(outputs) >= kPastCaches;
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

/// One thread, 16 bytes at a time with partials in registers; neighbouring threads take neighbouring words, and each has
/// `Deep` loads under way.
template <int Deep, class R, class In, class Out>
ISOTOPE_HD void fold_words(const R& r, int inputs, In in, int outputs, Out out, std::size_t words, int members,
                           std::uint32_t rank, std::uint32_t size) {
  constexpr auto kLanes = R::template lanes<16>();
  const std::size_t step = size;
  std::size_t word = rank;
  for (; word + (Deep - 1) * step < words; word += Deep * step) {
    typename R::template Partials<16> partials[Deep];
    Bits128 values[Deep];
    for (int k = 0; k < inputs; ++k) {
      ISOTOPE_UNROLL
      for (int i = 0; i < Deep; ++i) values[i] = platform::load_wide<Bits128>(in(k) + (word + i * step) * 16);
      ISOTOPE_UNROLL
      for (int i = 0; i < Deep; ++i) {
        if (k == 0) {
          r.widen(partials[i].data(), &values[i], kLanes);
        } else {
          r.more(partials[i].data(), &values[i], kLanes);
        }
      }
    }
    ISOTOPE_UNROLL
    for (int i = 0; i < Deep; ++i) r.finish(&values[i], partials[i].data(), kLanes, members);
    for (int k = 0; k < outputs; ++k) {
      ISOTOPE_UNROLL
      for (int i = 0; i < Deep; ++i) platform::store_wide(out(k) + (word + i * step) * 16, values[i]);
    }
  }
  if constexpr (Deep > 1) fold_words<1>(r, inputs, in, outputs, out, words, members, static_cast<std::uint32_t>(word), size);
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
/// an average divides by. Does not synchronise the group.
template <Group G, class R, class In, class Out>
ISOTOPE_HD void fold(G group, const R& r, int inputs, In in, int outputs, Out out, std::size_t count, int members) {
  if constexpr (platform::kIsGpu) {
    bool wide = true;
    for (int k = 0; k < inputs; ++k) wide = wide && aligned16(in(k));
    for (int k = 0; k < outputs; ++k) wide = wide && aligned16(out(k));
    const std::size_t words = wide ? count * r.element() / 16 : 0, done = words * 16 / r.element();
    fold_words<4>(r, inputs, in, outputs, out, words, members, group.thread_rank(), group.size());
    fold_elements(r, inputs, in, outputs, out, done, count - done, members, group.thread_rank(), group.size());
  } else {
    const Slice mine = slice_of(count, static_cast<int>(group.thread_rank()), static_cast<int>(group.size()), 64);
    fold_blocks(r, inputs, in, outputs, out, mine.begin, mine.count, members);
  }
}

}  // namespace isotope::detail
