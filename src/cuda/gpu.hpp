// One GPU as a PE uses it: its context, copies that disturb nobody's kernels, and words that it shares with the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/driver.hpp"

namespace isotope::cuda {

/// Makes the GPU's context current on the calling thread, as every call of the driver that works on it needs.
class Current {
 public:
  explicit Current(CUcontext context);
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  CUcontext before_ = nullptr;
  bool changed_ = false;
};

/// The same for destructors and questions: does not throw, false where the driver has ended, and leaves the thread as
/// it was, without a context too: this one may go next.
class CurrentAtEnd {
 public:
  explicit CurrentAtEnd(CUcontext context) noexcept;
  ~CurrentAtEnd();
  CurrentAtEnd(const CurrentAtEnd&) = delete;
  CurrentAtEnd& operator=(const CurrentAtEnd&) = delete;
  explicit operator bool() const noexcept { return good_; }

 private:
  CUcontext before_ = nullptr;
  bool good_ = false, changed_ = false;
};

/// For questions and waits: while somebody captures a graph, in PyTorch's mode on any thread, the driver refuses these
/// to threads that are not in relaxed mode, and the capture fails with them. Ours are about streams that nobody
/// captures.
class Relaxed {
 public:
  explicit Relaxed(const Driver& cuda) noexcept : cuda_(&cuda) {
    changed_ = cuda.cuThreadExchangeStreamCaptureMode(&before_) == CUDA_SUCCESS;
  }
  ~Relaxed() {
    if (changed_) cuda_->cuThreadExchangeStreamCaptureMode(&before_);
  }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  const Driver* cuda_;
  CUstreamCaptureMode before_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // the new one, until the driver exchanges it
  bool changed_ = false;
};

/// A PE's hold on one GPU. Uses the primary context, which the CUDA runtime of the user's program uses too.
/// Copies and fills run on a stream of its own that no other stream waits for: a peer's kernel may be spinning on the
/// same GPU until this PE does something, and whatever waits for the whole device would wait for ever. Thread-safe.
class Gpu {
 public:
  /// Throws Error: not_supported without a driver, out_of_range when there is no such device.
  explicit Gpu(int index);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  int index() const noexcept { return index_; }
  CUdevice device() const noexcept { return device_; }
  CUcontext context() const noexcept { return context_; }
  const Driver& calls() const noexcept { return *calls_; }
  std::string name() const;
  std::uint64_t memory_bytes() const;
  int attribute(CUdevice_attribute which) const;
  /// Whether kernels are loaded at their first launch. That waits for kernels that run.
  bool loads_lazily() const noexcept;
  /// Multiprocessors that this process may use: under MPS those of its share.
  int multiprocessors() const { return attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT); }
  /// 90 for sm_90.
  int compute_capability() const {
    return 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
           attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  }

  /// What the driver says of the GPU, without waiting for any kernel: what became of one that lost it
  /// (cuda/errors.hpp).
  CUresult state() const noexcept;

  /// Between any two of host and device memory; done when it returns.
  void copy(void* to, const void* from, std::size_t bytes) const;
  void fill(void* at, unsigned char value, std::size_t bytes) const;
  /// A zero-terminated string that lies in device memory.
  std::string text_at(const char* device) const;

 private:
  const Driver* calls_;
  int index_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream copies_ = nullptr;
};

/// How many GPUs the driver shows; 0 without one.
int gpu_count();
/// Whether processes that use a GPU from here do so through MPS. The driver connects to it by its control pipe and says
/// nothing about it (its attribute MPS_ENABLED is 1 without one, too), so the pipe is looked for.
bool mps_answers();

/// Host memory that kernels read and write too. Zeroed.
class PinnedMemory {
 public:
  PinnedMemory(const Gpu& gpu, std::size_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  /// The same address on host and device.
  void* data() const noexcept { return data_; }

 private:
  const Gpu* gpu_;
  void* data_ = nullptr;
};

/// Existing host pages made readable by kernels for as long as it lives. Pages that another PE of the process has
/// registered already are left to it.
class RegisteredMemory {
 public:
  RegisteredMemory(const Gpu& gpu, void* pages, std::size_t bytes);
  ~RegisteredMemory();
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;
  /// What kernels use for the first byte.
  void* device_address() const noexcept { return device_; }

 private:
  const Gpu* gpu_;
  void* pages_;
  void* device_ = nullptr;
  bool ours_ = false;
};

}  // namespace isotope::cuda
