#include "runtime/heap_space.hpp"

#include <algorithm>
#include <iterator>

namespace isotope::runtime {

HeapSpace::HeapSpace(std::uint64_t limit) : limit_(limit / kGranule * kGranule) {
  if (limit_ > 0) add_free(0, limit_);
}

std::optional<std::uint64_t> HeapSpace::allocate(std::uint64_t bytes, std::uint64_t alignment) {
  if (bytes > limit_) return std::nullopt;
  const std::uint64_t need = std::max<std::uint64_t>((bytes + kGranule - 1) / kGranule * kGranule, kGranule);
  alignment = std::max(alignment, kGranule);
  // Smallest range that holds it, and the lowest of those: low addresses stay dense.
  for (auto candidate = by_size_.lower_bound({need, 0}); candidate != by_size_.end(); ++candidate) {
    const auto [size, start] = *candidate;
    const std::uint64_t aligned = (start + alignment - 1) & ~(alignment - 1);
    if (aligned - start > size || size - (aligned - start) < need) continue;
    remove_free(free_.find(start));
    if (aligned > start) add_free(start, aligned - start);
    if (aligned + need < start + size) add_free(aligned + need, start + size - aligned - need);
    blocks_.emplace(aligned, need);
    used_ += need;
    return aligned;
  }
  return std::nullopt;
}

bool HeapSpace::release(std::uint64_t offset) {
  const auto block = blocks_.find(offset);
  if (block == blocks_.end()) return false;
  std::uint64_t start = block->first;
  std::uint64_t size = block->second;
  used_ -= size;
  blocks_.erase(block);
  auto next = free_.lower_bound(start);
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == start) {
      start = previous->first;
      size += previous->second;
      remove_free(previous);
    }
  }
  if (next != free_.end() && start + size == next->first) {
    size += next->second;
    remove_free(next);
  }
  add_free(start, size);
  return true;
}

std::optional<std::uint64_t> HeapSpace::block_bytes(std::uint64_t offset) const {
  const auto block = blocks_.find(offset);
  if (block == blocks_.end()) return std::nullopt;
  return block->second;
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> HeapSpace::block_around(std::uint64_t offset) const {
  auto block = blocks_.upper_bound(offset);
  if (block == blocks_.begin()) return std::nullopt;
  --block;
  if (offset >= block->first + block->second) return std::nullopt;
  return std::pair{block->first, block->second};
}

std::uint64_t HeapSpace::largest_free() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

void HeapSpace::add_free(std::uint64_t offset, std::uint64_t bytes) {
  free_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
}

void HeapSpace::remove_free(std::map<std::uint64_t, std::uint64_t>::iterator range) {
  by_size_.erase({range->second, range->first});
  free_.erase(range);
}

}  // namespace isotope::runtime
