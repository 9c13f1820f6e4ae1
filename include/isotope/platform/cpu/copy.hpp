// Copies, and wide accesses, on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace isotope::cpu {

/// This thread's part of a copy that `size` threads make together: a contiguous share in whole cache lines, so that
/// neighbours do not fight for one.
inline void copy_share(void* dst, const void* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size) {
  if (size == 1) {
    std::memcpy(dst, src, bytes);
    return;
  }
  constexpr std::size_t kLine = 64;
  const std::size_t lines = (bytes + kLine - 1) / kLine;
  const std::size_t each = (lines + size - 1) / size * kLine;
  const std::size_t from = each * rank;
  if (from >= bytes) return;
  const std::size_t count = bytes - from < each ? bytes - from : each;
  std::memcpy(static_cast<char*>(dst) + from, static_cast<const char*>(src) + from, count);
}

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

}  // namespace isotope::cpu
