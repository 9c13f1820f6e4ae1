// Copies, and wide accesses, on a GPU. The copies are ordinary code, for host code too: so tests look at their shares
// without a GPU.
#pragma once

#if defined(__CUDACC__)

#include <cstddef>
#include <cstdint>

#include "isotope/base/bits.hpp"
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

// Of any memory, unlike __ldcs and __stcs. By words of 32 bits, out of which a compiler takes elements with fewer
// instructions.
template <class V>
ISOTOPE_DEVICE V load_once(const void* p) {
  std::uint32_t w[4];
  asm volatile("ld.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
               : "l"(p)
               : "memory");
  return bit_cast<V>(
      Bits128{w[0] | static_cast<std::uint64_t>(w[1]) << 32, w[2] | static_cast<std::uint64_t>(w[3]) << 32});
}

template <class V>
ISOTOPE_DEVICE void store_once(void* p, const V& value) {
  const auto word = bit_cast<Bits128>(value);
  const auto low = [](std::uint64_t half) { return static_cast<std::uint32_t>(half); };
  asm volatile("st.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(low(word.low)), "r"(low(word.low >> 32)),
               "r"(low(word.high)), "r"(low(word.high >> 32))
               : "memory");
}

/// A thread's part of a row of words, where pieces of Deep * Lanes words are dealt out to units of `Lanes` neighbouring
/// threads: neighbours touch neighbouring words, and a thread reaches all of its piece from one address at either end.
template <int Deep, int Lanes>
struct Pieces {
  static constexpr int kDeep = Deep, kLanes = Lanes;
  /// The first word of a thread.
  ISOTOPE_HD static std::uint32_t first(std::uint32_t rank) { return rank / Lanes * (Deep * Lanes) + rank % Lanes; }
  /// The threads of a unit that is not whole have nothing to do.
  ISOTOPE_HD static std::uint32_t workers(std::uint32_t size) { return size & ~(Lanes - 1u); }

  uint4 held[Deep];

  /// The words at `src` and after it, the first of which is word `at` of `words`.
  ISOTOPE_HD void read(const uint4* src, std::uint32_t at, std::uint32_t words) {
#pragma unroll
    for (int k = 0; k < Deep; ++k)
      if (at + k * Lanes < words) held[k] = src[k * Lanes];
  }
  ISOTOPE_HD void write(uint4* dst, std::uint32_t at, std::uint32_t words) const {
#pragma unroll
    for (int k = 0; k < Deep; ++k)
      if (at + k * Lanes < words) dst[k * Lanes] = held[k];
  }

  /// All pieces from word `at` on, each `step` words after the one before.
  ISOTOPE_HD static void copy(uint4* dst, const uint4* src, std::uint32_t words, std::uint32_t at, std::uint32_t step) {
    dst += at;
    src += at;
#pragma unroll 1
    for (; at < words; at += step, dst += step, src += step) {
      Pieces piece = {};  // or what an earlier call left in the registers would have to be kept
      if (at + (Deep - 1) * Lanes < words) {
#pragma unroll
        for (int k = 0; k < Deep; ++k) piece.held[k] = src[k * Lanes];
#pragma unroll
        for (int k = 0; k < Deep; ++k) dst[k * Lanes] = piece.held[k];
      } else {
        piece.read(src, at, words);
        piece.write(dst, at, words);
      }
    }
  }
};

/// Pieces of larger copies are counted in 64 bits, more slowly.
inline constexpr std::size_t kMostInPieces = std::size_t{1} << 35;

/// Words rank, rank + size, ..., by groups of any size, two at a time.
template <class V>
ISOTOPE_HD void copy_by_turns(char* dst, const char* src, std::size_t words, std::uint32_t rank, std::uint32_t size) {
  auto* to = reinterpret_cast<V*>(dst) + rank;
  const auto* from = reinterpret_cast<const V*>(src) + rank;
#pragma unroll 1
  for (std::size_t i = rank; i < words; i += 2 * static_cast<std::size_t>(size), to += 2 * size, from += 2 * size) {
    const bool two = i + size < words;
    const V first = *from;
    V second{};
    if (two) second = from[size];
    *to = first;
    if (two) to[size] = second;
  }
}

/// A copy in words of one size, for which both ends are aligned alike, with single bytes up to the first of them and
/// after the last.
template <class V>
ISOTOPE_HD void copy_edges_and_words(char* dst, const char* src, std::size_t bytes, std::uint32_t rank,
                                     std::uint32_t size) {
  std::size_t head = (0 - reinterpret_cast<std::uintptr_t>(dst)) & (sizeof(V) - 1);
  if (head > bytes) head = bytes;
  const std::size_t words = (bytes - head) / sizeof(V), done = head + words * sizeof(V);
#pragma unroll 1
  for (std::size_t i = rank; i < head; i += size) dst[i] = src[i];
#pragma unroll 1
  for (std::size_t i = done + rank; i < bytes; i += size) dst[i] = src[i];
  copy_by_turns<V>(dst + head, src + head, words, rank, size);
}
/// Any copy, in the widest words that both ends are aligned for. A function of its own: it would be most of every
/// kernel that puts something.
ISOTOPE_COLD void copy_share_of_any(char* dst, const char* src, std::size_t bytes, std::uint32_t rank,
                                    std::uint32_t size) {
  const auto skew = reinterpret_cast<std::uintptr_t>(dst) ^ reinterpret_cast<std::uintptr_t>(src);
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

/// This thread's part of a copy that `size` threads make together, for kernels that do nothing else: eight loads under
/// way.
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

/// The same out of line, for warps that are not whole.
ISOTOPE_COLD void copy_share_of_few(void* dst, const void* src, std::size_t bytes, std::uint32_t rank,
                                    std::uint32_t size) {
  copy_share_deep(dst, src, bytes, rank, size);
}

/// How the threads of a group share out a copy. Blocks have four loads of a thread under way, which leaves the
/// registers to the caller's kernel.
template <CopyBy By>
using SharedOut = Pieces<By == CopyBy::warp ? 8 : 4, By == CopyBy::thread ? 1 : 32>;

/// Bits in which one of them differs from a multiple of 16.
ISOTOPE_HD std::uint32_t odd_bits(const void* a, const void* b, std::size_t bytes) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) | bytes) &
         15;
}
/// Words of 16 bytes in a copy of no more than can be counted in pieces; 0 in others.
ISOTOPE_HD std::uint32_t words_in_pieces(std::size_t bytes) {
  return bytes < kMostInPieces ? static_cast<std::uint32_t>(bytes >> 4) : 0;
}

/// What cannot be cut into pieces, or has nobody to take them.
template <CopyBy By>
ISOTOPE_HD void copy_otherwise(void* dst, const void* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size) {
  if constexpr (By == CopyBy::warp) {
    copy_share_of_few(dst, src, bytes, rank, size);
  } else {
    copy_share_of_any(static_cast<char*>(dst), static_cast<const char*>(src), bytes, rank, size);
  }
}

/// This thread's part of a copy that `size` threads make together.
template <CopyBy By>
ISOTOPE_HD void copy_share(void* dst, const void* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size) {
  using Share = SharedOut<By>;
  const std::uint32_t odd = odd_bits(dst, src, bytes), words = words_in_pieces(bytes), workers = Share::workers(size);
  if (odd == 0 && words != 0 && workers != 0) {
    if (rank < workers)
      Share::copy(static_cast<uint4*>(dst), static_cast<const uint4*>(src), words, Share::first(rank),
                  workers * Share::kDeep);
  } else if (odd == 8 && bytes <= 8 * static_cast<std::size_t>(size)) {
    if (rank < bytes >> 3) static_cast<uint2*>(dst)[rank] = static_cast<const uint2*>(src)[rank];
  } else {
    copy_otherwise<By>(dst, src, bytes, rank, size);
  }
}

/// What is at `p`, a word of 8 or 16 bytes, if it is `there`, without a branch. Zeros otherwise: or what was in the
/// registers before would have to be kept.
template <class V>
ISOTOPE_HD V load_if(bool there, const V* p) {
  V value = {};
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(V) == 16) {
    asm volatile("{\n\t.reg .pred there;\n\tsetp.ne.u32 there, %5, 0;\n\t@there ld.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
                 : "+r"(value.x), "+r"(value.y), "+r"(value.z), "+r"(value.w)
                 : "l"(p), "r"(static_cast<std::uint32_t>(there))
                 : "memory");
  } else {
    asm volatile("{\n\t.reg .pred there;\n\tsetp.ne.u32 there, %3, 0;\n\t@there ld.v2.u32 {%0, %1}, [%2];\n\t}"
                 : "+r"(value.x), "+r"(value.y)
                 : "l"(p), "r"(static_cast<std::uint32_t>(there))
                 : "memory");
  }
#else
  if (there) value = *p;
#endif  // __CUDA_ARCH__
  return value;
}

/// The same for a store.
template <class V>
ISOTOPE_HD void store_if(bool wanted, V* p, V value) {
#if defined(__CUDA_ARCH__)
  static_assert(sizeof(V) == 8);
  asm volatile(
      "{\n\t.reg .pred wanted;\n\tsetp.ne.u32 wanted, %3, 0;\n\t@wanted st.v2.u32 [%2], {%0, %1};\n\t}" ::"r"(value.x),
      "r"(value.y), "l"(p), "r"(static_cast<std::uint32_t>(wanted))
      : "memory");
#else
  if (wanted) *p = value;
#endif  // __CUDA_ARCH__
}

/// copy_share, after the threads have met, in two steps: this thread has read its first words before anything else is
/// looked at or worked out, since the way to memory and back is most of a short message's time. finish() writes those
/// words and copies what else is this thread's. `like_dst` is the target or this PE's own address of it, which is
/// aligned alike.
template <CopyBy By>
class BegunCopy {
 public:
  ISOTOPE_HD BegunCopy(const void* like_dst, const void* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size)
      : src_(src),
        bytes_(bytes),
        rank_(rank),
        size_(size),
        words_(words_in_pieces(bytes)),
        odd_(odd_bits(like_dst, src, bytes)) {
    // Without branches, into which compilers move what they need: every instruction up to here is part of a message's
    // latency.
    const auto* from = static_cast<const uint4*>(src);
    first_ = load_if(rank < words_ && odd_ == 0, from + rank);
    half_ = load_if(rank < bytes >> 3 && odd_ == 8, static_cast<const uint2*>(src) + rank);
    // Where there are more words than threads.
    const std::uint32_t at = size + More::first(rank);
#pragma unroll
    for (int k = 0; k < More::kDeep; ++k)
      more_.held[k] =
          load_if(words_ > size && at + k * More::kLanes < words_ && odd_ == 0, from + at + k * More::kLanes);
  }

  ISOTOPE_HD void finish(void* dst) const {
    auto* to = static_cast<uint4*>(dst);
    if (odd_ == 0 && words_ != 0) {
      if (rank_ < words_) to[rank_] = first_;
      if (words_ > size_) finish_more(to);
    } else if (odd_ == 8 && bytes_ <= 8 * static_cast<std::size_t>(size_)) {
      store_if(rank_ < bytes_ >> 3, static_cast<uint2*>(dst) + rank_,
               half_);  // lanes that went apart take long to come together
    } else {
      copy_otherwise<By>(dst, src_, bytes_, rank_, size_);
    }
  }

 private:
  using Rest = SharedOut<By>;
  using More = Pieces<3, Rest::kLanes>;

  ISOTOPE_HD void finish_more(uint4* to) const {
    const std::uint32_t workers = More::workers(size_), at = size_ + More::first(rank_),
                        done = size_ + workers * More::kDeep;
    const auto* from = static_cast<const uint4*>(src_);
    if (workers == 0) {
      copy_otherwise<By>(to + size_, from + size_, (words_ - size_) * std::size_t{16}, rank_, size_);
    } else if (rank_ < workers) {
      more_.write(to + at, at, words_);
      if (words_ > done) Rest::copy(to + done, from + done, words_ - done, Rest::first(rank_), workers * Rest::kDeep);
    }
  }

  const void* src_;
  std::size_t bytes_;
  std::uint32_t rank_, size_, words_, odd_;
  uint4 first_;  // word `rank`
  uint2 half_;   // the same where words are of 8 bytes
  More more_;    // words after those that all threads have as their first
};

/// A copy that need not be done when it returns.
template <CopyBy By>
ISOTOPE_HD void start_copy_share(void* dst, const void* src, std::size_t bytes, std::uint32_t rank,
                                 std::uint32_t size) {
  copy_share<By>(dst, src, bytes, rank, size);
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
