// The way from a kernel, which is an ordinary function, to what the CUDA runtime launches. In files that nvcc compiles.
#pragma once

#include "isotope/base/gpu_kernel.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/platform/cuda/atomic.hpp"

#if defined(__CUDACC__)

namespace isotope::cuda {

/// What a parameter does before the kernel begins, if it does anything.
template <class P>
ISOTOPE_DEVICE void begin_parameter(P& parameter) {
  if constexpr (requires { parameter.begin_kernel(); }) parameter.begin_kernel();
}

// Without a bound a kernel may take more registers than a block of that many threads can have.
template <auto Kernel, int MaxThreads, class... P>
__global__ void __launch_bounds__(MaxThreads, 1) gpu_entry(P... parameters) {
  (begin_parameter(parameters), ...);
  Kernel(parameters...);
}

/// The CUDA runtime keeps its last error for whoever asks next; ours is told by the return value alone.
inline int outcome(cudaError_t error) {
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  return error;
}

/// More dynamic shared memory than 48 KiB must be asked for. All that the GPU has: asking for less would take it from
/// another launch of the same kernel.
inline cudaError_t allow_shared(const void* entry, std::size_t bytes) {
  constexpr std::size_t kFree = 48 * 1024;
  if (bytes <= kFree) return cudaSuccess;
  int device = 0, most = 0;
  cudaFuncAttributes attributes{};
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, entry);
  if (error != cudaSuccess) return error;
  return cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              most - static_cast<int>(attributes.sharedSizeBytes));
}

/// A launch in the runtime's own words. Points into itself.
struct RuntimeLaunch {
  explicit RuntimeLaunch(const detail::GpuLaunch& how) {
    config.gridDim = {how.grid.x, how.grid.y, how.grid.z};
    config.blockDim = {how.block.x, how.block.y, how.block.z};
    config.dynamicSmemBytes = how.shared_bytes;
    config.stream = static_cast<cudaStream_t>(how.stream);
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
  }
  RuntimeLaunch(const RuntimeLaunch&) = delete;
  RuntimeLaunch& operator=(const RuntimeLaunch&) = delete;

  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attributes[3];
};

inline int launch_entry(const void* entry, const detail::GpuLaunch& how, void** arguments) {
  if (const cudaError_t error = allow_shared(entry, how.shared_bytes); error != cudaSuccess) return outcome(error);
  const RuntimeLaunch launch(how);
  return outcome(cudaLaunchKernelExC(&launch.config, entry, arguments));
}

inline int blocks_per_multiprocessor(const void* entry, const detail::GpuLaunch& how, int* blocks) {
  if (const cudaError_t error = allow_shared(entry, how.shared_bytes); error != cudaSuccess) return outcome(error);
  return outcome(cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, entry, static_cast<int>(how.block.count()),
                                                               how.shared_bytes));
}

inline int clusters_on_gpu(const void* entry, const detail::GpuLaunch& how, int* clusters) {
  if (const cudaError_t error = allow_shared(entry, how.shared_bytes); error != cudaSuccess) return outcome(error);
  const RuntimeLaunch launch(how);
  return outcome(cudaOccupancyMaxActiveClusters(clusters, entry, &launch.config));
}

inline int code_version(const void* entry, int* version) {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, entry);
  *version = attributes.ptxVersion < attributes.binaryVersion ? attributes.ptxVersion : attributes.binaryVersion;
  return outcome(error);
}

inline int local_bytes(const void* entry, std::size_t* bytes) {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, entry);
  *bytes = attributes.localSizeBytes;
  return outcome(error);
}

inline const char* runtime_error_text(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

inline constexpr detail::GpuCalls kRuntimeCalls{
    &launch_entry, &blocks_per_multiprocessor, &runtime_error_text, &clusters_on_gpu, &code_version, &local_bytes};
inline const int kNoted = detail::note_gpu_code();

template <auto Kernel, int MaxThreads, class... P>
detail::GpuKernel gpu_kernel() {
  return {reinterpret_cast<const void*>(&gpu_entry<Kernel, MaxThreads, P...>), &kRuntimeCalls, MaxThreads};
}

}  // namespace isotope::cuda

#endif  // __CUDACC__
