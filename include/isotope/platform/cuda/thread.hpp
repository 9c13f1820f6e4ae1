// Identity and local synchronisation of a kernel thread on a GPU. The same names as platform/cpu/thread.hpp, which says
// what each one means.
#pragma once

#if defined(__CUDACC__)

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "isotope/base/dim3.hpp"
#include "isotope/platform/cuda/atomic.hpp"
#include "isotope/platform/unwatched.hpp"

namespace isotope::cuda {

using namespace unwatched;

inline constexpr std::uint32_t kWarpSize = 32;
inline constexpr bool kThreadsRunTogether = true;
inline constexpr bool kIsGpu = true;
inline constexpr bool kFencesWhenMet = kHalfFences;
inline constexpr bool kStopIsCheap = false;

ISOTOPE_DEVICE Dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
ISOTOPE_DEVICE Dim3 block_dim() { return {blockDim.x, blockDim.y, blockDim.z}; }
ISOTOPE_DEVICE Dim3 block_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
ISOTOPE_DEVICE Dim3 grid_dim() { return {gridDim.x, gridDim.y, gridDim.z}; }
ISOTOPE_DEVICE std::uint32_t thread_rank() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
ISOTOPE_DEVICE std::uint32_t block_threads() { return blockDim.x * blockDim.y * blockDim.z; }
ISOTOPE_DEVICE std::uint32_t block_rank() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

ISOTOPE_DEVICE void block_sync() { __syncthreads(); }
/// Lanes that exist: the last warp of a block may be partial, and a mask may not name what is not there.
ISOTOPE_DEVICE std::uint32_t existing_lanes() {
  const std::uint32_t first = thread_rank() & ~(kWarpSize - 1);
  const std::uint32_t left = block_threads() - first;
  return left >= kWarpSize ? 0xffffffffu : (1u << left) - 1;
}
/// Whether a mask names 32 lanes, in a block of whole warps. The instructions for lanes that are known while compiling
/// are far shorter.
ISOTOPE_DEVICE bool are_all_lanes(std::uint32_t mask) {
  return mask == 0xffffffffu && block_threads() % kWarpSize == 0;
}

ISOTOPE_DEVICE void warp_sync(std::uint32_t mask) {
  if (are_all_lanes(mask)) return __syncwarp(0xffffffffu);
  __syncwarp(mask & existing_lanes());
}
template <class Word>
ISOTOPE_DEVICE Word warp_exchange(std::uint32_t mask, Word value, std::uint32_t source) {
  if (are_all_lanes(mask)) {
    const Word found = static_cast<Word>(__shfl_sync(0xffffffffu, value, static_cast<int>(source)));
    return source < kWarpSize ? found : value;
  }
  mask &= existing_lanes();
  const bool there = source < kWarpSize && (mask >> source & 1) != 0;
  const Word found = static_cast<Word>(__shfl_sync(mask, value, static_cast<int>(there ? source : 0)));
  return there ? found : value;
}
ISOTOPE_DEVICE std::uint32_t warp_ballot(std::uint32_t mask, bool predicate) {
  if (are_all_lanes(mask)) return __ballot_sync(0xffffffffu, predicate);
  return __ballot_sync(mask & existing_lanes(), predicate);
}
ISOTOPE_DEVICE std::uint32_t warp_active_mask() { return __activemask(); }
ISOTOPE_DEVICE bool all_of_whole_warp(bool value) { return __all_sync(0xffffffffu, value) != 0; }
ISOTOPE_DEVICE bool first_of_whole_warp(bool value) {
  __syncwarp();
  return (__ballot_sync(0xffffffffu, value) & 1) != 0;
}

ISOTOPE_DEVICE std::uint64_t block_broadcast(std::uint64_t value) {
  __shared__ std::uint64_t slot;
  if (thread_rank() == 0) slot = value;
  __syncthreads();
  const std::uint64_t found = slot;
  __syncthreads();  // the next broadcast may write only now
  return found;
}
ISOTOPE_DEVICE bool block_broadcast_bool(bool value) { return __syncthreads_or(thread_rank() == 0 && value) != 0; }
/// Whether all threads of the block say yes.
ISOTOPE_DEVICE bool block_all(bool value) { return __syncthreads_and(value) != 0; }

template <class T, class Tag>
ISOTOPE_DEVICE T& shared_storage() {
  static_assert(std::is_trivially_default_constructible_v<T>, "shared memory has no constructors");
  __shared__ T storage;
  return storage;
}
ISOTOPE_DEVICE void* dynamic_shared(std::size_t* bytes) {
  extern __shared__ __align__(128) unsigned char isotope_dynamic_shared[];
  unsigned size;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
  *bytes = size;
  return isotope_dynamic_shared;
}

/// Programmatic dependent launch, since sm_90; before it kernels of a stream never overlap.
ISOTOPE_DEVICE void await_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif  // sm_90
}
ISOTOPE_DEVICE void allow_next_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif  // sm_90
}

/// Has an address, a choice or a condition worked out here, and not where it is used, after a wait.
template <class T>
ISOTOPE_DEVICE T ready(T value) {
  if constexpr (sizeof(T) == 8) {
    asm volatile("" : "+l"(value));
    return value;
  } else {
    auto word = static_cast<std::uint32_t>(value);
    asm volatile("" : "+r"(word));
    return static_cast<T>(word);
  }
}

/// 32 bits of which a compiler knows nothing more: it does not join what is done with them to what is done with their
/// neighbours.
ISOTOPE_DEVICE std::uint32_t opaque(std::uint32_t value) {
  asm("" : "+r"(value));
  return value;
}

/// Brings a line of global memory nearer. Nothing is read: it may be about to change.
ISOTOPE_DEVICE void fetch_ahead(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

/// The first polls follow each other at once; then the thread leaves the issue slots to others for growing times.
ISOTOPE_DEVICE void relax(std::uint32_t failed_polls) {
  if (failed_polls < 64) return;
  __nanosleep(failed_polls < 4096 ? 20 : 200);
}

}  // namespace isotope::cuda

#endif  // __CUDACC__
