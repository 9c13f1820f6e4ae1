// Which bytes of a symmetric heap are in use: an allocator of offsets, without memory behind it.
//
// Every PE runs the same sequence of calls on its own copy, so every PE gets the same offsets with nothing exchanged.
// Best fit over coalesced free ranges; deterministic to the byte.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace isotope::runtime {

class HeapSpace {
 public:
  /// Every block starts at a multiple of this and is rounded up to one.
  static constexpr std::uint64_t kGranule = 256;

  /// Offsets lie in [0, limit).
  explicit HeapSpace(std::uint64_t limit);

  /// The offset of a block of at least `bytes` bytes, or nothing when no free range holds it. `alignment` is a power of
  /// two.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment = kGranule);
  /// Gives the block at `offset` back. False, and nothing changes, when no block starts there.
  bool release(std::uint64_t offset);

  /// Size of the block that starts at `offset`, or nothing.
  std::optional<std::uint64_t> block_bytes(std::uint64_t offset) const;
  /// Start and size of the block that contains `offset`, or nothing.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> block_around(std::uint64_t offset) const;

  std::uint64_t limit() const { return limit_; }
  std::uint64_t used_bytes() const { return used_; }
  std::uint64_t free_bytes() const { return limit_ - used_; }
  std::uint64_t largest_free() const;
  std::size_t blocks() const { return blocks_.size(); }
  std::size_t free_ranges() const { return free_.size(); }

 private:
  void add_free(std::uint64_t offset, std::uint64_t bytes);
  void remove_free(std::map<std::uint64_t, std::uint64_t>::iterator range);

  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  std::map<std::uint64_t, std::uint64_t> blocks_;              // offset -> bytes
  std::map<std::uint64_t, std::uint64_t> free_;                // offset -> bytes, coalesced
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // (bytes, offset) of free_
};

}  // namespace isotope::runtime
