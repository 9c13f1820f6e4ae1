// Shared memory of a block.
#include "exec/shared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>

#include "exec/sanitizer.hpp"
#include "isotope/base/error.hpp"
#include "isotope/base/macros.hpp"

namespace isotope::exec {

namespace {

constexpr std::size_t kSmallestChunk = 8 * 1024;
constexpr std::align_val_t kChunkAlignment{128};
constexpr std::size_t kMaxIdleBytes = std::size_t{64} << 20;
// Room between variables, so that the address sanitizer sees a step past one.
constexpr std::size_t kRedZone = ISOTOPE_ASAN ? 32 : 0;

// Idle chunks by the logarithm of their size. Lives as long as the process, like the fibers.
class ChunkPool {
 public:
  static ChunkPool& instance() {
    static ChunkPool& pool = *new ChunkPool;
    return pool;
  }

  char* take(std::size_t bytes) {
    {
      std::lock_guard lock(mutex_);
      auto& idle = idle_[class_of(bytes)];
      if (!idle.empty()) {
        char* data = idle.back();
        idle.pop_back();
        idle_bytes_ -= bytes;
        return data;
      }
    }
    return static_cast<char*>(::operator new(bytes, kChunkAlignment));
  }

  void give(char* data, std::size_t bytes) noexcept {
    try {
      std::lock_guard lock(mutex_);
      if (idle_bytes_ + bytes <= kMaxIdleBytes) {
        idle_[class_of(bytes)].push_back(data);
        idle_bytes_ += bytes;
        return;
      }
    } catch (const std::bad_alloc&) {
    }
    allow_memory(data, bytes);
    ::operator delete(data, kChunkAlignment);
  }

 private:
  static std::size_t class_of(std::size_t bytes) { return static_cast<std::size_t>(std::bit_width(bytes)); }

  std::mutex mutex_;
  std::array<std::vector<char*>, 65> idle_;
  std::size_t idle_bytes_ = 0;
};

}  // namespace

void* SharedArena::get(const void* key, std::size_t bytes, std::size_t alignment, std::size_t limit) {
  for (const Variable& variable : variables_) {
    if (variable.key == key) return variable.data;
  }
  if (bytes > limit || used_ > limit - bytes) {
    throw Error(
        Code::invalid_argument,
        fmt::format(
            "static shared memory of a block: {} bytes asked for with {} in use, but a block has at most {} bytes; use "
            "smaller shared variables",
            bytes, used_, limit));
  }
  const auto fits = [&](const Chunk& chunk, std::size_t from, std::size_t* at) {
    const auto base = reinterpret_cast<std::uintptr_t>(chunk.data);
    *at = static_cast<std::size_t>((base + from + alignment - 1) / alignment * alignment - base);
    return *at <= chunk.bytes && bytes <= chunk.bytes - *at;
  };
  std::size_t at = 0;
  if (chunks_.empty() || !fits(chunks_.back(), chunk_used_, &at)) {
    const std::size_t size = std::bit_ceil(std::max(kSmallestChunk, bytes + alignment));
    chunks_.reserve(chunks_.size() + 1);
    chunks_.push_back({ChunkPool::instance().take(size), size});
    forbid_memory(chunks_.back().data, size);
    fits(chunks_.back(), 0, &at);
  }
  void* data = chunks_.back().data + at;
  variables_.push_back({key, data});
  chunk_used_ = at + bytes + kRedZone;
  if (limit != kNoLimit) used_ += bytes;
  allow_memory(data, bytes);
#if ISOTOPE_CHECKED
  std::memset(data, 0xA5, bytes);
#endif  // ISOTOPE_CHECKED
  return data;
}

void SharedArena::clear() noexcept {
  for (const Chunk& chunk : chunks_) ChunkPool::instance().give(chunk.data, chunk.bytes);
  chunks_.clear();
  variables_.clear();
  used_ = chunk_used_ = 0;
}

}  // namespace isotope::exec
