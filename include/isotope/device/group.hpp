// Groups: who performs a device call together.
//
//   auto block = this_block();
//   for (size_t i = block.thread_rank(); i < n; i += block.size()) ...
//   block.sync();
//
// Every group has thread_rank(), size(), sync(), is_leader() and broadcast(). A call that takes a group is made by all
// of its threads, with the same arguments. Groups are small values; take them anew in each kernel.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "isotope/base/bits.hpp"
#include "isotope/base/dim3.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/base/span.hpp"
#include "isotope/platform/platform.hpp"

namespace isotope {

inline constexpr std::uint32_t kWarpSize = platform::kWarpSize;
inline constexpr std::uint32_t kFullWarp = 0xffffffffu;

/// What can cross lanes in one step: up to 8 trivially copyable bytes.
template <class T>
concept LaneValue = std::is_trivially_copyable_v<T> && sizeof(T) <= 8;

namespace detail {
/// The value in the word that crosses lanes: 32 bits where they are enough.
template <LaneValue T>
using LaneWord = Word<sizeof(T) <= 4 ? 4 : 8>;
template <LaneValue T>
ISOTOPE_HD LaneWord<T> to_lane_word(T value) {
  if constexpr (sizeof(T) == sizeof(LaneWord<T>)) {
    return bit_cast<LaneWord<T>>(value);
  } else {
    LaneWord<T> word = 0;
    std::memcpy(&word, &value, sizeof(T));
    return word;
  }
}
template <LaneValue T>
ISOTOPE_HD T from_lane_word(LaneWord<T> word) {
  if constexpr (sizeof(T) == sizeof(LaneWord<T>)) {
    return bit_cast<T>(word);
  } else {
    T value;
    std::memcpy(&value, &word, sizeof(T));
    return value;
  }
}
}  // namespace detail

/// One thread, alone.
class Thread {
 public:
  ISOTOPE_HD std::uint32_t thread_rank() const { return 0; }
  ISOTOPE_HD std::uint32_t size() const { return 1; }
  ISOTOPE_HD bool is_leader() const { return true; }
  ISOTOPE_HD void sync() const {}
  template <LaneValue T>
  ISOTOPE_HD T broadcast(T value) const {
    return value;
  }
};

/// Up to 32 threads of a block with neighbouring ranks. Masks name lanes; lanes that returned from the kernel never
/// block others.
class Warp {
 public:
  ISOTOPE_HD std::uint32_t thread_rank() const { return platform::thread_rank() % kWarpSize; }
  /// Lanes in this warp: 32, or fewer in a block's last one.
  ISOTOPE_HD std::uint32_t size() const {
    const std::uint32_t rank = platform::thread_rank();
    const std::uint32_t left = platform::block_threads() - (rank - rank % kWarpSize);
    return left < kWarpSize ? left : kWarpSize;
  }
  /// Index of the warp in its block.
  ISOTOPE_HD std::uint32_t rank() const { return platform::thread_rank() / kWarpSize; }
  ISOTOPE_HD bool is_leader() const { return thread_rank() == 0; }
  /// Orders memory among the lanes of `mask`.
  ISOTOPE_HD void sync(std::uint32_t mask = kFullWarp) const { platform::warp_sync(mask); }

  /// The value of lane `source`; the caller's own where that lane is not in the mask or does not exist.
  template <LaneValue T>
  ISOTOPE_HD T shuffle(T value, std::uint32_t source, std::uint32_t mask = kFullWarp) const {
    return detail::from_lane_word<T>(
        static_cast<detail::LaneWord<T>>(platform::warp_exchange(mask, detail::to_lane_word(value), source)));
  }
  template <LaneValue T>
  ISOTOPE_HD T shuffle_xor(T value, std::uint32_t lanes, std::uint32_t mask = kFullWarp) const {
    return shuffle(value, thread_rank() ^ lanes, mask);
  }
  template <LaneValue T>
  ISOTOPE_HD T shuffle_down(T value, std::uint32_t delta, std::uint32_t mask = kFullWarp) const {
    return shuffle(value, thread_rank() + delta, mask);
  }
  template <LaneValue T>
  ISOTOPE_HD T shuffle_up(T value, std::uint32_t delta, std::uint32_t mask = kFullWarp) const {
    return shuffle(value, thread_rank() < delta ? kWarpSize : thread_rank() - delta, mask);
  }
  template <LaneValue T>
  ISOTOPE_HD T broadcast(T value) const {
    // As a block's does it orders memory: what lane 0 has acquired is there for all. A shuffle alone does not on a GPU.
    if constexpr (platform::kIsGpu) sync();
    if constexpr (platform::kIsGpu && std::is_same_v<T, bool>) {
      return (ballot(value) & 1) != 0;
    } else {
      return shuffle(value, 0);
    }
  }
  /// Bit per lane whose predicate holds.
  ISOTOPE_HD std::uint32_t ballot(bool predicate, std::uint32_t mask = kFullWarp) const {
    return platform::warp_ballot(mask, predicate);
  }
  ISOTOPE_HD bool any(bool predicate, std::uint32_t mask = kFullWarp) const { return ballot(predicate, mask) != 0; }
  ISOTOPE_HD bool all(bool predicate, std::uint32_t mask = kFullWarp) const { return ballot(!predicate, mask) == 0; }
  /// Lanes that exist and have not returned.
  ISOTOPE_HD std::uint32_t active_mask() const { return platform::warp_active_mask(); }
};

/// All threads of a block.
class Block {
 public:
  ISOTOPE_HD std::uint32_t thread_rank() const { return platform::thread_rank(); }
  ISOTOPE_HD Dim3 thread_index() const { return platform::thread_index(); }
  ISOTOPE_HD std::uint32_t size() const { return platform::block_threads(); }
  ISOTOPE_HD Dim3 dim() const { return platform::block_dim(); }
  /// Index of the block in its grid.
  ISOTOPE_HD std::uint32_t rank() const { return platform::block_rank(); }
  ISOTOPE_HD Dim3 index() const { return platform::block_index(); }
  /// Blocks in the grid.
  ISOTOPE_HD std::uint32_t grid_size() const { return static_cast<std::uint32_t>(platform::grid_dim().count()); }
  ISOTOPE_HD Dim3 grid_dim() const { return platform::grid_dim(); }
  ISOTOPE_HD bool is_leader() const { return thread_rank() == 0; }
  /// Waits for all threads of the block that have not returned; orders memory among them.
  ISOTOPE_HD void sync() const { platform::block_sync(); }
  /// Whether every thread's predicate holds. Synchronises the block.
  ISOTOPE_HD bool all(bool predicate) const { return platform::block_all(predicate); }
  /// What thread 0 passed.
  template <LaneValue T>
  ISOTOPE_HD T broadcast(T value) const {
    if constexpr (std::is_same_v<T, bool>) {
      return platform::block_broadcast_bool(value);
    } else {
      return detail::from_lane_word<T>(
          static_cast<detail::LaneWord<T>>(platform::block_broadcast(detail::to_lane_word(value))));
    }
  }
};

template <class G>
concept Group = std::same_as<G, Thread> || std::same_as<G, Warp> || std::same_as<G, Block>;

namespace detail {

/// How a group shares out steps 0, 1, 2, ... that wait for others: this thread does `first`, `first + step`, ... Where
/// threads run together each takes some; where they take turns the leader does all of them.
struct Share {
  std::uint32_t first, step;
};
template <Group G>
ISOTOPE_HD Share share_of(G group) {
  if constexpr (platform::kThreadsRunTogether) {
    return {group.thread_rank(), group.size()};
  } else {
    return {group.is_leader() ? 0u : 0xffffffffu, 1u};
  }
}

/// Whether every thread's share went well. Synchronises the group.
template <Group G>
ISOTOPE_HD bool agree(G group, bool well) {
  if constexpr (std::same_as<G, Thread>) {
    return well;
  } else if constexpr (platform::kThreadsRunTogether) {
    if constexpr (std::same_as<G, Warp> && platform::kIsGpu) group.sync();  // a vote orders no memory
    return group.all(well);
  } else {
    return group.broadcast(well);
  }
}

/// Whether the group is a warp in a block of whole ones, or a block of one. The same for all of its threads.
template <Group G>
ISOTOPE_HD bool is_whole_warp(G) {
  if constexpr (std::same_as<G, Thread>) {
    return false;
  } else if constexpr (std::same_as<G, Warp>) {
    return platform::block_threads() % kWarpSize == 0;
  } else {
    return platform::block_threads() == kWarpSize;
  }
}

}  // namespace detail

ISOTOPE_HD Thread this_thread() { return {}; }
ISOTOPE_HD Warp this_warp() { return {}; }
ISOTOPE_HD Block this_block() { return {}; }

/// Dynamic shared memory of the block, as an array of T: LaunchConfig::shared_bytes / sizeof(T) elements.
template <class T>
ISOTOPE_HD Span<T> dynamic_shared() {
  std::size_t bytes = 0;
  void* data = platform::dynamic_shared(&bytes);
  return Span<T>(static_cast<T*>(data), bytes / sizeof(T));
}

}  // namespace isotope

/// Static shared memory of the block: ISOTOPE_SHARED(float[256], tile); declares float (&tile)[256].
#define ISOTOPE_SHARED(type, name)         \
  struct isotope_shared_##name {};         \
  using isotope_shared_type_##name = type; \
  isotope_shared_type_##name& name =       \
      ::isotope::platform::shared_storage<isotope_shared_type_##name, isotope_shared_##name>()
