// A kernel as a GPU runs it: what the compiler of the program knows about it, in a form that the library can use.
//
// Plain data: the library is compiled without CUDA's compiler, the program with it.
#pragma once

#include <cstddef>

#include "isotope/base/dim3.hpp"

namespace isotope::detail {

/// The shape of one launch.
struct GpuLaunch {
  Dim3 grid, block, cluster;
  std::size_t shared_bytes = 0;
  void* stream = nullptr;     // a cudaStream_t
  bool cooperative = false;   // all blocks start together or none does
  bool programmatic = false;  // may start while the kernel before it on the stream ends
};

/// What the CUDA runtime that the program is linked with does for us. Each returns a cudaError_t, 0 for success.
struct GpuCalls {
  int (*launch)(const void* entry, const GpuLaunch& how, void** arguments);
  /// How many blocks of that shape one multiprocessor holds at once.
  int (*blocks_per_multiprocessor)(const void* entry, const GpuLaunch& how, int* blocks);
  const char* (*error_text)(int error);
  /// How many clusters of that shape the GPU holds at once.
  int (*clusters)(const void* entry, const GpuLaunch& how, int* clusters) = nullptr;
  /// The oldest kind of GPU that the code was written for, as far as its instructions go: 80 for compute_80, also where
  /// the driver has made it into code for sm_90.
  int (*code_version)(const void* entry, int* version) = nullptr;
  /// Local memory that each thread needs: its stack, arrays and spilled registers.
  int (*local_bytes)(const void* entry, std::size_t* bytes) = nullptr;
};

struct GpuKernel {
  const void* entry = nullptr;  // null: the file that launches it was not compiled for GPUs
  const GpuCalls* calls = nullptr;
  int max_threads = 0;  // of a block
};

/// A file of this program was compiled for GPUs: platform `auto` may choose one. Called before main.
int note_gpu_code() noexcept;
bool has_gpu_code() noexcept;

}  // namespace isotope::detail
