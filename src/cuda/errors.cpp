#include "cuda/errors.hpp"

#include <fmt/format.h>

#include <cstdlib>

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

std::string advice_on_mps(CUresult result) {
  const auto variable = [](const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return fmt::format("{}, {}", value != nullptr ? value : otherwise, name);
  };
  const auto queues = [] {
    const char* value = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    return value != nullptr ? fmt::format("CUDA_DEVICE_MAX_CONNECTIONS is {}", value)
                            : std::string("CUDA_DEVICE_MAX_CONNECTIONS is not set, so 8");
  };
  const std::string logs = variable("CUDA_MPS_LOG_DIRECTORY", "/var/log/nvidia-mps");
  switch (result) {
    case CUDA_ERROR_MPS_CONNECTION_FAILED:
      return fmt::format(
          "; the MPS of this process ({}) cannot be reached: see that nvidia-cuda-mps-control runs there for this "
          "user, "
          "or unset the variable, and `isotope run --platform cuda` brings an MPS of the job's own. Its logs: {}",
          variable("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"), logs);
    case CUDA_ERROR_MPS_RPC_FAILURE:
      return fmt::format(
          "; the MPS server has ended or does not answer: its server.log says why ({}). Start the job anew", logs);
    case CUDA_ERROR_MPS_SERVER_NOT_READY:
      return fmt::format(
          "; the MPS server starts, recovers from a kernel that failed, or serves another user: wait some seconds and "
          "start the job anew, or end it first (echo quit | nvidia-cuda-mps-control). Its logs: {}",
          logs);
    case CUDA_ERROR_MPS_MAX_CLIENTS_REACHED:
      return fmt::format(
          "; the MPS server takes no more processes on this GPU: at most 48, and fewer where each has many hardware "
          "queues ({}). Put fewer PEs on the GPU, make them threads, or set the variable to 64 / processes of the GPU",
          queues());
    case CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED:
      return fmt::format(
          "; the processes on this GPU have taken all of its hardware queues, which come from one stock ({}). Set it "
          "to "
          "64 / processes of the GPU, as `isotope run --platform cuda` does, or put fewer PEs on the GPU",
          queues());
    default:
      return {};
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
