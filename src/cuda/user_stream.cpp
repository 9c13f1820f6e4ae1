#include "cuda/user_stream.hpp"

#include <fmt/format.h>

namespace isotope::cuda {

namespace {

/// Whether nobody captures a graph from it.
bool is_free(const Gpu& gpu, CUstream stream) {
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  return gpu.calls().cuStreamIsCapturing(stream, &capture) == CUDA_SUCCESS && capture == CU_STREAM_CAPTURE_STATUS_NONE;
}

/// A context in words.
std::string owner_text(const Gpu& gpu, CUcontext context) {
  CUdevice device = 0;
  const Current current(context);
  if (gpu.calls().cuCtxGetDevice(&device) != CUDA_SUCCESS || device == gpu.device())
    return "a context of its own (a green context counts as one), not the one that the CUDA runtime uses (the GPU's "
           "primary context)";
  return fmt::format("GPU {}", device);
}

}  // namespace

void check_user_stream(const Gpu& gpu, CUstream stream, bool threads, int pe) {
  const auto refuse = [pe](const std::string& why) { throw Error(Code::invalid_argument, "wrap_stream: " + why, pe); };
  constexpr const char* kMakeOne = "; pass one made with cudaStreamNonBlocking";
  if (stream == nullptr || stream == CU_STREAM_LEGACY) {
    refuse(
        fmt::format("the stream is {}, CUDA's default stream, which waits for all others and so for peers that wait "
                    "for this PE{}",
                    stream == nullptr ? "null" : "cudaStreamLegacy", kMakeOne));
  }
  if (stream == CU_STREAM_PER_THREAD)
    refuse(fmt::format("the stream is cudaStreamPerThread, which is another stream on each thread{}", kMakeOne));
  const Current current(gpu.context());
  // Drivers before 12.5 refuse the questions below about a stream under capture, and the capture fails with them.
  if (!is_free(gpu, stream)) return;
  CUcontext context = nullptr;
  if (gpu.calls().cuStreamGetCtx(stream, &context) == CUDA_SUCCESS && context != nullptr && context != gpu.context()) {
    refuse(
        fmt::format("the stream belongs to {}; kernels of this PE run on GPU {}: make it with that one current "
                    "(cudaSetDevice)",
                    owner_text(gpu, context), gpu.index()));
  }
  unsigned flags = CU_STREAM_NON_BLOCKING;
  if (threads && gpu.calls().cuStreamGetFlags(stream, &flags) == CUDA_SUCCESS &&
      (flags & CU_STREAM_NON_BLOCKING) == 0) {
    refuse(
        fmt::format("the stream waits for CUDA's default stream, and PEs that are threads share GPU {}: what one of "
                    "them does on the default stream would wait for the kernels of all{}",
                    gpu.index(), kMakeOne));
  }
}

}  // namespace isotope::cuda
