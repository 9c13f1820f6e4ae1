// The symmetric heap in a GPU's memory: grows by pieces that every PE maps.
#pragma once

#if ISOTOPE_HAVE_CUDA

#include <memory>

#include "cuda/address_space.hpp"
#include "runtime/heap_memory.hpp"
#include "runtime/stream_count.hpp"

namespace isotope::runtime {

class GpuMulticast;

/// What the PEs of one process have together.
struct GpuShare {
  std::shared_ptr<const cuda::Gpu> gpu;  // of the PE that came first
  std::unique_ptr<cuda::RegisteredMemory> segment;
  std::unique_ptr<cuda::AddressSpace> space;
  cuda::Travel travel = cuda::Travel::descriptors;  // the same on every PE of the job
  StreamCount streams;
};

/// Where kernels look objects up: in the PE's control range on the GPU.
struct GpuObjectTable {
  ObjectTable* table = nullptr;
  ObjectRange* ranges = nullptr;
  std::uint64_t capacity = 0;
};

std::unique_ptr<HeapMemory> gpu_memory(std::shared_ptr<const cuda::Gpu> gpu, std::shared_ptr<GpuShare> share,
                                       const ProcessJob& job, int rank, const GpuObjectTable& objects,
                                       std::shared_ptr<GpuMulticast> multicast);

}  // namespace isotope::runtime

#endif  // ISOTOPE_HAVE_CUDA
