// Memory of one PE that kernels reach and no peer does: the host's where kernels run on the CPU, else the GPU's,
// outside the heap. Read and written by the host like a Symmetric.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "isotope/isotope.h"
#include "isotope/isotope.hpp"

namespace isotope::testing {

class PrivateMemory {
 public:
  PrivateMemory(const World& world, std::size_t bytes) : here_(world.drives_gpu() ? 0 : bytes), bytes_(bytes) {
#if ISOTOPE_GPU_COMPILER
    if (!world.drives_gpu()) return;
    cudaGetDevice(&device_);
    gpu_ = static_cast<char*>(isotope_gpu_alloc(bytes, device_, nullptr));
    // Not the default stream: that waits for kernels, which may wait for a peer.
    if (gpu_ == nullptr || cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) != cudaSuccess)
      throw std::bad_alloc();
#endif  // ISOTOPE_GPU_COMPILER
  }
  ~PrivateMemory() {
#if ISOTOPE_GPU_COMPILER
    isotope_gpu_free(gpu_, bytes_, device_, stream_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
#endif  // ISOTOPE_GPU_COMPILER
  }
  PrivateMemory(const PrivateMemory&) = delete;
  PrivateMemory& operator=(const PrivateMemory&) = delete;

  char* data() { return gpu_ != nullptr ? gpu_ : here_.data(); }
  std::size_t size() const { return bytes_; }

  /// All of it; no kernel uses it meanwhile.
  void write(const std::vector<char>& values) {
    if (gpu_ == nullptr) {
      here_ = values;  // as many, so that they stay where they are
    } else {
      copy(gpu_, values.data());
    }
  }
  std::vector<char> read() {
    if (gpu_ == nullptr) return here_;
    std::vector<char> values(bytes_);
    copy(values.data(), gpu_);
    return values;
  }

 private:
  void copy([[maybe_unused]] char* to, [[maybe_unused]] const char* from) {
#if ISOTOPE_GPU_COMPILER
    if (cudaMemcpyAsync(to, from, bytes_, cudaMemcpyDefault, stream_) != cudaSuccess ||
        cudaStreamSynchronize(stream_) != cudaSuccess)
      throw Error(Code::system, "a copy of private memory has failed");
#endif  // ISOTOPE_GPU_COMPILER
  }

  std::vector<char> here_;
  std::size_t bytes_;
  char* gpu_ = nullptr;
#if ISOTOPE_GPU_COMPILER
  int device_ = 0;
  cudaStream_t stream_ = nullptr;
#endif  // ISOTOPE_GPU_COMPILER
};

}  // namespace isotope::testing
