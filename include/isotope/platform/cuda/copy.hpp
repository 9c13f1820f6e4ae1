// Copies, and wide accesses, on a GPU. The copies are ordinary code, for host code too: so tests look at their shares without a GPU.
#pragma once

#if defined(__CUDACC__)

#include <cstddef>
#include <cstdint>

#include "isotope/base/macros.hpp"
#include "isotope/platform/begun_copy.hpp"
#include "isotope/platform/cuda/atomic.hpp"

namespace isotope::cuda {

template <class V>
ISOTOPE_DEVICE V load_wide(const void* p) {
  return *static_cast<const V*>(p);
}

template <class V>
ISOTOPE_DEVICE void store_wide(void* p, const V& value) {
  *static_cast<V*>(p) = value;
}

/// Words in pieces of Deep * Lanes, dealt out to units of `Lanes` neighbouring threads: neighbours touch neighbouring words,
/// and a thread reaches all of its piece from two addresses. `size` is a multiple of Lanes.
template <class V, int Deep, int Lanes>
ISOTOPE_HD void copy_pieces(V* dst, const V* src, std::uint32_t words, std::uint32_t rank, std::uint32_t size) {
  std::uint32_t at = rank / Lanes * (Deep * Lanes) + rank % Lanes;
  dst += at;
  src += at;
#pragma unroll 1
  for (; at < words; at += size * Deep, dst += size * Deep, src += size * Deep) {
    V held[Deep] = {};  // or what an earlier call left in the registers would have to be kept
    if (at + (Deep - 1) * Lanes < words) {
#pragma unroll
      for (int k = 0; k < Deep; ++k) held[k] = src[k * Lanes];
#pragma unroll
      for (int k = 0; k < Deep; ++k) dst[k * Lanes] = held[k];
    } else {
#pragma unroll
      for (int k = 0; k < Deep; ++k)
        if (at + k * Lanes < words) held[k] = src[k * Lanes];
#pragma unroll
      for (int k = 0; k < Deep; ++k)
        if (at + k * Lanes < words) dst[k * Lanes] = held[k];
    }
  }
}

/// Pieces of larger copies are counted in 64 bits, more slowly.
inline constexpr std::size_t kMostPieces = std::size_t{1} << 35;

/// Words rank, rank + size, ..., by groups of any size, two at a time.
template <class V>
ISOTOPE_HD void copy_by_turns(char* dst, const char* src, std::size_t words, std::uint32_t rank, std::uint32_t size) {
  auto* to = reinterpret_cast<V*>(dst);
  const auto* from = reinterpret_cast<const V*>(src);
#pragma unroll 1
  for (std::size_t i = rank; i < words; i += 2 * static_cast<std::size_t>(size)) {
    const std::size_t j = i + size;
    const V first = from[i];
    V second{};
    if (j < words) second = from[j];
    to[i] = first;
    if (j < words) to[j] = second;
  }
}

/// A copy that is not of whole words of 16 bytes, in the widest words that both ends are aligned for, with single bytes up to
/// the first of them and after the last. A function of its own: it would be most of every kernel that puts something.
template <class V>
ISOTOPE_HD void copy_edges_and_words(char* dst, const char* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size) {
  std::size_t head = (0 - reinterpret_cast<std::uintptr_t>(dst)) & (sizeof(V) - 1);
  if (head > bytes) head = bytes;
  const std::size_t words = (bytes - head) / sizeof(V), done = head + words * sizeof(V);
#pragma unroll 1
  for (std::size_t i = rank; i < head; i += size) dst[i] = src[i];
#pragma unroll 1
  for (std::size_t i = done + rank; i < bytes; i += size) dst[i] = src[i];
  copy_by_turns<V>(dst + head, src + head, words, rank, size);
}
ISOTOPE_COLD void copy_share_of_any(char* dst, const char* src, std::size_t bytes, std::uint32_t rank,
                                    std::uint32_t size) {
  const auto skew = reinterpret_cast<std::uintptr_t>(dst) ^ reinterpret_cast<std::uintptr_t>(src);
  const auto bits = reinterpret_cast<std::uintptr_t>(dst) | reinterpret_cast<std::uintptr_t>(src) | bytes;
  if (size == 1 && (bits & 15) == 0 && bytes < kMostPieces) {
    return copy_pieces<uint4, 4, 1>(reinterpret_cast<uint4*>(dst), reinterpret_cast<const uint4*>(src),
                                    static_cast<std::uint32_t>(bytes >> 4), 0, 1);
  }
  if ((skew & 15) == 0) return copy_edges_and_words<uint4>(dst, src, bytes, rank, size);
  if ((skew & 7) == 0) return copy_edges_and_words<std::uint64_t>(dst, src, bytes, rank, size);
  if ((skew & 3) == 0) return copy_edges_and_words<std::uint32_t>(dst, src, bytes, rank, size);
  copy_by_turns<std::uint8_t>(dst, src, bytes, rank, size);
}

/// Words rank, rank + size, ... of equally aligned ends, `Deep` at a time.
template <int Deep>
ISOTOPE_HD void copy_words_deep(uint4* dst, const uint4* src, std::size_t words, std::size_t rank, std::uint32_t size) {
  std::size_t i = rank;
  for (; i + (Deep - 1) * static_cast<std::size_t>(size) < words; i += static_cast<std::size_t>(size) * Deep) {
    uint4 held[Deep];
#pragma unroll
    for (int k = 0; k < Deep; ++k) held[k] = src[i + static_cast<std::size_t>(size) * k];
#pragma unroll
    for (int k = 0; k < Deep; ++k) dst[i + static_cast<std::size_t>(size) * k] = held[k];
  }
  // What is left, by fewer at a time: a few kilobytes are all of the message.
  if constexpr (Deep > 1) copy_words_deep<Deep / 2>(dst, src, words, i, size);
}

/// This thread's part of a copy that `size` threads make together, for groups of few threads and for kernels that do nothing
/// else: eight loads under way.
ISOTOPE_HD void copy_share_deep(void* dst, const void* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size) {
  const auto bits = reinterpret_cast<std::uintptr_t>(dst) | reinterpret_cast<std::uintptr_t>(src) | bytes;
  if ((bits & 7) == 0 && bytes <= 8 * static_cast<std::size_t>(size)) {
    if (rank < bytes / 8) static_cast<std::uint64_t*>(dst)[rank] = static_cast<const std::uint64_t*>(src)[rank];
  } else if ((bits & 15) == 0) {
    copy_words_deep<8>(static_cast<uint4*>(dst), static_cast<const uint4*>(src), bytes / 16, rank, size);
  } else {
    copy_share_of_any(static_cast<char*>(dst), static_cast<const char*>(src), bytes, rank, size);
  }
}

/// A copy that `size` threads make together, after they have met, of which this one has read its first word before anything else is
/// looked at or worked out: the way to memory and back is most of a short message's time. finish() writes that word and copies what
/// else is this thread's. `like_dst` is the target or this PE's own address of it, which is aligned alike.
template <CopyBy By>
class BegunCopy {
 public:
  ISOTOPE_HD BegunCopy(const void* like_dst, const void* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size)
      : src_(src),
        bytes_(bytes),
        rank_(rank),
        size_(size),
        odd_(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(like_dst) | reinterpret_cast<std::uintptr_t>(src) | bytes) & 15) {
    if (odd_ == 0) {
      if (rank < bytes >> 4) first_ = static_cast<const uint4*>(src)[rank];
    } else if ((odd_ & 7) == 0) {
      if (rank < bytes >> 3) {
        const uint2 half = static_cast<const uint2*>(src)[rank];
        first_.x = half.x;
        first_.y = half.y;
      }
    }
  }

  ISOTOPE_HD void finish(void* dst) const {
    // In the order of what is copied most and waited for most: every instruction on the way is part of a message's latency.
    if (odd_ == 0 && bytes_ <= 16 * static_cast<std::size_t>(size_)) {
      if (rank_ < bytes_ >> 4) static_cast<uint4*>(dst)[rank_] = first_;
    } else if ((odd_ & 7) == 0 && bytes_ <= 8 * static_cast<std::size_t>(size_)) {
      if (rank_ < bytes_ >> 3) static_cast<uint2*>(dst)[rank_] = make_uint2(first_.x, first_.y);
    } else {
      copy_longer(static_cast<char*>(dst), static_cast<const char*>(src_));
    }
  }

 private:
  /// More than a word for each thread: the first one again, with the others. Blocks have four loads under way, which leaves the
  /// registers to the caller's kernel.
  ISOTOPE_HD void copy_longer(char* dst, const char* src) const {
    if constexpr (By == CopyBy::warp) {
      copy_share_deep(dst, src, bytes_, rank_, size_);
    } else if (odd_ == 0 && bytes_ < kMostPieces && size_ >= 32) {
      auto* to = reinterpret_cast<uint4*>(dst);
      const auto* from = reinterpret_cast<const uint4*>(src);
      // The threads of a last warp that is not whole have nothing to do.
      const std::uint32_t whole = size_ & ~31u;
      if (rank_ < whole) copy_pieces<uint4, 4, 32>(to, from, static_cast<std::uint32_t>(bytes_ >> 4), rank_, whole);
    } else {
      copy_share_of_any(dst, src, bytes_, rank_, size_);
    }
  }

  const void* src_;
  std::size_t bytes_;
  std::uint32_t rank_, size_, odd_;  // odd: bits in which an address or the length differs from a multiple of 16
  uint4 first_;  // without a value in threads that have no word, and half of one where words are of 8 bytes
};

/// A copy that need not be done when it returns.
template <CopyBy By>
ISOTOPE_HD void start_copy_share(void* dst, const void* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size) {
  BegunCopy<By>(dst, src, bytes, rank, size).finish(dst);
}

/// A wide access where each element is one of its own, relaxed.
template <class V>
ISOTOPE_DEVICE V load_elements(const void* p) {
  return load_wide<V>(p);
}
template <class V>
ISOTOPE_DEVICE void store_elements(void* p, const V& value) {
  store_wide(p, value);
}

}  // namespace isotope::cuda

#endif  // __CUDACC__
