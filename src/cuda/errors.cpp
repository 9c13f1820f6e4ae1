#include "cuda/errors.hpp"

#include <fmt/format.h>

namespace isotope::cuda {

bool loses_gpu(CUresult result) noexcept {
  switch (result) {
    case CUDA_SUCCESS:
    case CUDA_ERROR_NOT_READY:
    case CUDA_ERROR_NOT_PERMITTED:
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    case CUDA_ERROR_DEINITIALIZED:
      return false;
    default:  // those of graphs that are being captured concern the capture alone
      return result < CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED || result > CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
}

std::string advice_on_launch(int error, const Gpu& gpu) {
  // The values of cudaError_t, which this room is compiled without.
  constexpr int kInsufficientDriver = 35, kInvalidDeviceFunction = 98, kNoKernelImage = 209, kUnsupportedPtx = 222;
  int version = 0;
  gpu.calls().cuDriverGetVersion(&version);
  switch (error) {
    case kInsufficientDriver:
    case kUnsupportedPtx:
      return fmt::format(
          "; the program was built with a newer CUDA than this machine's driver supports, which is {}: "
          "build it with that one or an older one, or bring a newer driver",
          version_text(version));
    case kInvalidDeviceFunction:
    case kNoKernelImage:
      return fmt::format(
          "; the program has no code for this GPU ({}, sm_{}): configure it with "
          "ISOTOPE_CUDA_ARCHITECTURES={}, or give nvcc -gencode for it",
          gpu.name(), gpu.compute_capability(), gpu.compute_capability());
    default:
      return {};
  }
}

}  // namespace isotope::cuda
