// The way from a kernel, which is an ordinary function, to what the CUDA runtime launches. In files that nvcc compiles.
#pragma once

#include "isotope/base/gpu_kernel.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/platform/cuda/atomic.hpp"

#if defined(__CUDACC__)

namespace isotope::cuda {

/// What a parameter does before the kernel begins, if it does anything.
template <class P>
ISOTOPE_DEVICE void begin_kernel(P& parameter) {
  if constexpr (requires { parameter.begin_kernel(); }) parameter.begin_kernel();
}

// Without a bound a kernel may take more registers than a block of that many threads can have.
template <auto Kernel, int MaxThreads, class... P>
__global__ void __launch_bounds__(MaxThreads) gpu_entry(P... parameters) {
  (begin_kernel(parameters), ...);
  Kernel(parameters...);
}

inline int launch_entry(const void* entry, const detail::GpuLaunch& how, void** arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = {how.grid.x, how.grid.y, how.grid.z};
  config.blockDim = {how.block.x, how.block.y, how.block.z};
  config.dynamicSmemBytes = how.shared_bytes;
  config.stream = static_cast<cudaStream_t>(how.stream);
  cudaLaunchAttribute attributes[3];
  unsigned count = 0;
  if (how.cooperative) {
    attributes[count].id = cudaLaunchAttributeCooperative;
    attributes[count++].val.cooperative = 1;
  }
  if (how.cluster.count() > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = how.cluster.x;
    attributes[count].val.clusterDim.y = how.cluster.y;
    attributes[count++].val.clusterDim.z = how.cluster.z;
  }
  if (how.programmatic) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  config.attrs = attributes;
  config.numAttrs = count;
  return cudaLaunchKernelExC(&config, entry, arguments);
}

inline int blocks_per_multiprocessor(const void* entry, const detail::GpuLaunch& how, int* blocks) {
  constexpr std::size_t kFree = 48 * 1024;  // more dynamic shared memory than this must be asked for
  if (how.shared_bytes > kFree) {
    const cudaError_t error = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   static_cast<int>(how.shared_bytes));
    if (error != cudaSuccess) return error;
  }
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, entry, static_cast<int>(how.block.count()),
                                                       how.shared_bytes);
}

inline const char* runtime_error_text(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

inline constexpr detail::GpuCalls kRuntimeCalls{&launch_entry, &blocks_per_multiprocessor, &runtime_error_text};
inline const int kNoted = detail::note_gpu_code();

template <auto Kernel, int MaxThreads, class... P>
detail::GpuKernel gpu_kernel() {
  return {reinterpret_cast<const void*>(&gpu_entry<Kernel, MaxThreads, P...>), &kRuntimeCalls, MaxThreads};
}

}  // namespace isotope::cuda

#endif  // __CUDACC__
