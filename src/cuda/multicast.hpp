// Multicast objects: one address whose stores, loads and reductions reach the memory of a GPU each of several PEs.
//
// An object is a Chunk as others are: it travels, is imported and is mapped the same way. In this order, or the driver
// refuses: one PE makes it, all add their GPU, and only when all have, each binds its memory and maps the object.
#pragma once

#include <cstdint>

#include "cuda/chunk.hpp"

namespace isotope::cuda {

/// Whether the GPU can be in one, with mappings of kChunkGranule.
bool multicast_works(const Driver& calls, CUdevice device) noexcept;

/// For `gpus` GPUs, with room for `bytes`, a multiple of kChunkGranule.
Chunk create_multicast(const Gpu& gpu, int gpus, std::uint64_t bytes, Travel travel);
void add_to_multicast(const Chunk& object, const Gpu& gpu);
/// All of `memory`, `offset` into the object.
void bind_to_multicast(const Chunk& object, const Gpu& gpu, std::uint64_t offset, const Chunk& memory);
void unbind_from_multicast(const Chunk& object, const Gpu& gpu, std::uint64_t offset, std::uint64_t bytes) noexcept;

}  // namespace isotope::cuda
