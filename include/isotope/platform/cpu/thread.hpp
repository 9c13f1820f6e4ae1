// Identity and local synchronisation of a kernel thread on the CPU. Implemented by src/exec, used by device/ through
// platform.hpp; user code sees groups instead.
//
// A kernel thread is a fiber that stays on one operating-system thread from start to end of its launch. Code that runs
// outside any kernel sees itself as the only thread of a block of one, so host code may call device functions too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "isotope/base/dim3.hpp"
#include "isotope/platform/unwatched.hpp"

namespace isotope::cpu {

using namespace unwatched;

struct BlockState;  // src/exec

inline constexpr std::uint32_t kWarpSize = 32;
/// The threads of a launch take turns on one operating-system thread: work shared out among them is not done sooner.
inline constexpr bool kThreadsRunTogether = false;
/// Whether this is code for a GPU: the host side of a program that nvcc compiles is not.
inline constexpr bool kIsGpu = false;
/// Whether a fence gives a wait its order once a relaxed look is met, or another look does.
inline constexpr bool kFencesWhenMet = false;
/// Whether every call can afford to look at a word of memory that almost never changes.
inline constexpr bool kStopIsCheap = true;

struct ThreadState {
  Dim3 thread_index{0, 0, 0};
  Dim3 block_index{0, 0, 0};
  Dim3 block_dim{1, 1, 1};
  Dim3 grid_dim{1, 1, 1};
  std::uint32_t thread_rank = 0;  // in the block, x fastest
  std::uint32_t block_rank = 0;   // in the grid, x fastest
  std::uint32_t block_threads = 1;
  BlockState* block = nullptr;  // null outside kernels
};

/// The running kernel thread; never null. Not cached across a call that may switch fibers: read it again.
ThreadState& this_thread_state() noexcept;

inline std::uint32_t thread_rank() noexcept { return this_thread_state().thread_rank; }
inline Dim3 thread_index() noexcept { return this_thread_state().thread_index; }
inline std::uint32_t block_threads() noexcept { return this_thread_state().block_threads; }
inline Dim3 block_dim() noexcept { return this_thread_state().block_dim; }
inline std::uint32_t block_rank() noexcept { return this_thread_state().block_rank; }
inline Dim3 block_index() noexcept { return this_thread_state().block_index; }
inline Dim3 grid_dim() noexcept { return this_thread_state().grid_dim; }

/// Waits for every thread of the block that has not returned from the kernel. Orders memory within the block.
void block_sync() noexcept;
/// Waits for every lane in `mask` (which must hold the caller's) that has not returned.
void warp_sync(std::uint32_t mask) noexcept;
/// All lanes of `mask` call it with the same mask: publishes `value` and returns the value of lane `source` (the
/// caller's own if `source` is not in the mask or has returned).
std::uint64_t warp_exchange(std::uint32_t mask, std::uint64_t value, std::uint32_t source) noexcept;
/// Lanes of `mask` whose `predicate` is true.
std::uint32_t warp_ballot(std::uint32_t mask, bool predicate) noexcept;
/// Lanes of the caller's warp that exist and have not returned.
std::uint32_t warp_active_mask() noexcept;
/// All threads of the block call it; returns what thread 0 passed. One block_sync.
std::uint64_t block_broadcast(std::uint64_t value) noexcept;

/// All threads of the block call it; whether every one of them passed true. One block_sync.
bool block_all(bool value) noexcept;
/// block_broadcast of a yes or no.
inline bool block_broadcast_bool(bool value) noexcept { return block_broadcast(value ? 1 : 0) != 0; }

/// Storage of one shared variable of the running block: the same address for every thread of it that passes the same
/// key, fresh (unspecified bytes; poisoned in the checked build) for each block of each launch.
void* block_shared(const void* key, std::size_t bytes, std::size_t alignment);
namespace detail {
template <class Tag>
inline constexpr char kSharedKey = 0;
}  // namespace detail
/// The shared variable of the running block that `Tag` names.
template <class T, class Tag>
T& shared_storage() {
  static_assert(std::is_trivially_default_constructible_v<T>, "shared memory has no constructors");
  return *static_cast<T*>(block_shared(&detail::kSharedKey<Tag>, sizeof(T), alignof(T)));
}
/// Dynamic shared memory of the running block.
void* dynamic_shared(std::size_t* bytes) noexcept;

/// Called by a wait that is not met yet, with its count of failed polls so far. Spins, then lets other kernel threads
/// of this operating-system thread run, then yields the CPU, and after some milliseconds sleeps for short times: PEs
/// may outnumber cores.
void relax(std::uint32_t failed_polls) noexcept;

}  // namespace isotope::cpu
