// Copies, and wide accesses, on a GPU.
#pragma once

#if defined(__CUDACC__)

#include <cstddef>
#include <cstdint>

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

/// Thread `rank` of `size` copies words rank, rank + size, ...: neighbours touch neighbouring words, and each thread
/// has `Deep` loads under way before its first store waits for one.
template <class V, int Deep>
ISOTOPE_DEVICE void copy_words(char* dst, const char* src, std::size_t words, std::size_t rank, std::uint32_t size) {
  auto* to = reinterpret_cast<V*>(dst);
  const auto* from = reinterpret_cast<const V*>(src);
  std::size_t i = rank;
  for (; i + (Deep - 1) * static_cast<std::size_t>(size) < words; i += static_cast<std::size_t>(size) * Deep) {
    V held[Deep];
#pragma unroll
    for (int k = 0; k < Deep; ++k) held[k] = from[i + static_cast<std::size_t>(size) * k];
#pragma unroll
    for (int k = 0; k < Deep; ++k) to[i + static_cast<std::size_t>(size) * k] = held[k];
  }
  // What is left, by fewer at a time: a few kilobytes are all of the message.
  if constexpr (Deep > 1) copy_words<V, Deep / 2>(dst, src, words, i, size);
}

/// The same for any range whose ends are equally aligned: single bytes up to the first whole word and after the last.
template <class V, int Deep>
ISOTOPE_DEVICE void copy_aligned(char* dst, const char* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size) {
  std::size_t head = (0 - reinterpret_cast<std::uintptr_t>(dst)) & (sizeof(V) - 1);
  if (head > bytes) head = bytes;
  if (head != 0) copy_words<std::uint8_t, 1>(dst, src, head, rank, size);
  const std::size_t words = (bytes - head) / sizeof(V), done = head + words * sizeof(V);
  if (words != 0) copy_words<V, Deep>(dst + head, src + head, words, rank, size);
  if (done != bytes) copy_words<std::uint8_t, 1>(dst + done, src + done, bytes - done, rank, size);
}

/// This thread's part of a copy that `size` threads make together. 16 bytes at a time where both ends are equally
/// aligned, less otherwise.
ISOTOPE_DEVICE void copy_share(void* dst, const void* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size) {
  auto* to = static_cast<char*>(dst);
  const auto* from = static_cast<const char*>(src);
  const auto skew = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  // A few words, as flags and small messages are: not worth the way to the wide path.
  if (bytes % 8 == 0 && bytes <= 8 * static_cast<std::size_t>(size) &&
      ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) & 7) == 0) {
    if (rank < bytes / 8) reinterpret_cast<std::uint64_t*>(to)[rank] = reinterpret_cast<const std::uint64_t*>(from)[rank];
  } else if ((skew & 15) == 0) {
    copy_aligned<uint4, 8>(to, from, bytes, rank, size);
  } else if ((skew & 7) == 0) {
    copy_aligned<std::uint64_t, 4>(to, from, bytes, rank, size);
  } else if ((skew & 3) == 0) {
    copy_aligned<std::uint32_t, 4>(to, from, bytes, rank, size);
  } else {
    copy_words<std::uint8_t, 4>(to, from, bytes, rank, size);
  }
}

/// The same for a copy that need not be done when it returns.
ISOTOPE_DEVICE void start_copy_share(void* dst, const void* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size) {
  copy_share(dst, src, bytes, rank, size);
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
