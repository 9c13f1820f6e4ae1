// Memory of a GPU that the user has: what lies behind its addresses, and an allocator whose memory can be registered.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/chunk.hpp"

namespace isotope::cuda {

/// The pieces of memory that a range of addresses lies in, as they follow each other there. Each is whole: CUDA maps no
/// part of one.
struct UserMemory {
  std::vector<Chunk> chunks;
  std::uint64_t lead = 0;   // bytes of the first one before the range
  std::uint64_t bytes = 0;  // of all of them
};

/// Throws Error: invalid_argument for an empty range, for addresses that CUDA does not know and for another GPU's
/// memory; not_supported for memory that cannot be mapped a second time, such as cudaMalloc's, with what to use
/// instead.
UserMemory find_user_memory(const Gpu& gpu, const void* data, std::uint64_t bytes);

/// The way that this piece can travel, `rather` if it has the choice. Throws Error(not_supported) for memory that was
/// made for one process alone.
Travel travel_of(const Chunk& chunk, Travel rather);

/// `bytes` of GPU `device`'s memory that find_user_memory finds and other processes can import, for every GPU of this
/// process that reaches it. Keeps the GPU's context until it is freed. Throws Error.
void* allocate_user_memory(std::uint64_t bytes, int device);
/// Waits for `stream`, the last to use the memory, unless it is being captured. Throws Error(invalid_argument) for an
/// address that is not the start of such memory.
void free_user_memory(void* data, int device, CUstream stream);

}  // namespace isotope::cuda
