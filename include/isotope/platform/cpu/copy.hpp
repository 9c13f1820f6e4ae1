// Copies, and wide accesses, on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "isotope/platform/begun_copy.hpp"

namespace isotope::cpu {

/// From here on it pays to ask what this processor copies fastest by, which copy_large does.
inline constexpr std::size_t kLargeCopy = std::size_t{64} << 10;
void copy_large(void* dst, const void* src, std::size_t bytes);

inline void copy_bytes(void* dst, const void* src, std::size_t bytes) {
  if (bytes < kLargeCopy) {
    std::memcpy(dst, src, bytes);
  } else {
    copy_large(dst, src, bytes);
  }
}

/// This thread's part of a copy that `size` threads make together: a contiguous share in whole cache lines, so that
/// neighbours do not fight for one.
template <CopyBy = CopyBy::block>
inline void copy_share(void* dst, const void* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size) {
  if (size == 1) return copy_bytes(dst, src, bytes);
  constexpr std::size_t kLine = 64;
  const std::size_t lines = (bytes + kLine - 1) / kLine;
  const std::size_t each = (lines + size - 1) / size * kLine;
  const std::size_t from = each * rank;
  if (from >= bytes) return;
  const std::size_t count = bytes - from < each ? bytes - from : each;
  copy_bytes(static_cast<char*>(dst) + from, static_cast<const char*>(src) + from, count);
}

template <CopyBy By>
using BegunCopy = CopyAtFinish<copy_share<By>>;

/// The same for kernels that do nothing else: on a GPU they have registers for more loads at a time.
inline void copy_share_deep(void* dst, const void* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size) {
  copy_share(dst, src, bytes, rank, size);
}

/// The same for a copy that need not be done when it returns. Loads and stores have no queue: it is.
template <CopyBy>
inline void start_copy_share(void* dst, const void* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size) {
  copy_share(dst, src, bytes, rank, size);
}

/// A copy whose target nobody reads before it would have left the caches anyway: it does not pass through them, which
/// spares reading each line before it is written. end_copies_past_caches() comes before what tells others of it.
void copy_past_caches(void* dst, const void* src, std::size_t bytes);
void end_copies_past_caches();

/// How much one of `pes` PEs writes in a call when that way is the faster one: of copies, and of sums, whose inputs it
/// reads through the caches.
struct PastCachesFrom {
  std::size_t copies, sums;
};
PastCachesFrom past_caches_from(int pes);

/// A plain access of sizeof(V) bytes, aligned so; not atomic.
template <class V>
inline V load_wide(const void* p) {
  V value;
  std::memcpy(&value, p, sizeof(V));
  return value;
}

template <class V>
inline void store_wide(void* p, const V& value) {
  std::memcpy(p, &value, sizeof(V));
}

/// The same, of what is not needed again soon: caches that can be told so give it up before other words. 16 bytes.
template <class V>
inline V load_once(const void* p) {
  return load_wide<V>(p);
}
template <class V>
inline void store_once(void* p, const V& value) {
  store_wide(p, value);
}

/// The same as load_wide and store_wide where each element is an access of its own, relaxed.
template <class V>
inline V load_elements(const void* p) {
  return load_wide<V>(p);
}

template <class V>
inline void store_elements(void* p, const V& value) {
  store_wide(p, value);
}

}  // namespace isotope::cpu
