// Local memory of a GPU's kernels: stacks, arrays and spilled registers of their threads.
//
// A context has one piece for all its kernels: so many bytes for every thread that the GPU can hold. A launch that
// needs more makes the driver get a larger piece, and that may wait for all kernels that run (CUDA's documentation of
// cuCtxSetLimit, and NVIDIA's forum: https://forums.developer.nvidia.com/t/local-memory-management/289339). Where PEs
// that are threads share the context, one of those kernels may wait for the very launch. So it can be set aside before
// the first launch. None of this has been tried on a GPU.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "cuda/gpu.hpp"
#include "isotope/base/gpu_kernel.hpp"

namespace isotope::cuda {

/// Of one PE that shares its context with others. Thread-safe.
class LocalMemory {
 public:
  explicit LocalMemory(std::shared_ptr<const Gpu> gpu) : gpu_(std::move(gpu)) {}

  /// At least `bytes` for each thread. Waits for all kernels that run where that is more than there is: call it before
  /// the first launch. Throws Error(invalid_argument) where the driver does not give as much.
  void set_aside(std::uint64_t bytes) const;
  bool enough_for(const detail::GpuKernel& kernel);
  /// What to tell the user of a kernel for which there is not enough.
  std::string shortage(const detail::GpuKernel& kernel);

 private:
  std::uint64_t there() const;
  std::uint64_t needed_by(const detail::GpuKernel& kernel);

  const std::shared_ptr<const Gpu> gpu_;
  std::mutex mutex_;
  std::map<const void*, std::uint64_t> needed_;
};

}  // namespace isotope::cuda
