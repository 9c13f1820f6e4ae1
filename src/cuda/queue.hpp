// A stream of a GPU behind the contract of exec/exec.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "cuda/gpu.hpp"
#include "exec/exec.hpp"
#include "isotope/base/gpu_kernel.hpp"

namespace isotope::cuda {

/// Unlike a queue on the CPU, one that is closed runs what was enqueued to its end: a GPU takes nothing back.
class GpuQueue final : public exec::StreamQueue {
 public:
  /// A stream of its own, or the caller's `theirs`, which stays the caller's. `paced`: PEs of this process share the
  /// GPU. Where several of them have launches enqueued behind ones that wait for each other, a peer's kernel sometimes
  /// does not start although nothing is in its way; plain CUDA does the same (docs/gpu.md). A paced queue has one
  /// launch under way: the next one waits in the host until it is over.
  /// `lost` is told, once and outside of callbacks, that no work will run on the GPU any more, and CUDA's words for
  /// why. `pe` throws.
  using LossReport = std::function<void(const std::string&)>;
  GpuQueue(std::shared_ptr<const Gpu> gpu, exec::FailureProbe probe, CUstream theirs = nullptr, bool paced = false,
           LossReport lost = {}, int pe = Error::kNobody);
  /// A stream of the user's is left alone, unless close() came first: nobody holds this queue, so its work was found
  /// done, and what the user has enqueued or begun to capture since is not waited for.
  ~GpuQueue() override {
    if (ours_) GpuQueue::close();
  }

  /// Throws Error(kernel_failed) with the driver's reason, and what to do about it, when it refuses the launch.
  void launch_gpu(const detail::GpuKernel& kernel, detail::GpuLaunch how, void** arguments);

  /// After a refusal: throws Error(kernel_failed) if the GPU is lost to this process, after everybody who has to know
  /// was told. CUDA gives the error of a kernel before from calls that have nothing to do with it.
  void throw_if_lost() const;

  void launch(const exec::GridSpec& spec, std::function<void()> body) override;
  void call(std::function<void()> fn) override;
  std::shared_ptr<exec::EventState> record() override;
  void wait(std::shared_ptr<exec::EventState> event) override;
  bool idle() const override;
  bool is_captured() const noexcept override;
  void synchronize() override;
  std::exception_ptr pending_failure() const override;
  std::exception_ptr kept_failure() const override;
  void close() noexcept override;

  /// What callbacks threw; outlives the queue, since callbacks may.
  struct Failures {
    std::mutex mutex;
    std::exception_ptr first;
  };

 private:
  /// Held by every call that uses the stream, so that close() waits for it. Throws Error(not_initialized) after
  /// close().
  std::shared_lock<std::shared_mutex> enter() const;
  /// is_captured() where the GPU's context is current.
  bool captures() const noexcept;
  /// What the driver says of the stream, without waiting; CUDA_ERROR_NOT_READY while it is being captured, and where it
  /// cannot be asked. Leaves the thread as it was.
  CUresult ask() const noexcept;
  /// The error of work that failed on the GPU, after everybody who has to know of a loss was told.
  Error failure_of(CUresult result) const;
  std::unique_lock<std::mutex> await_last_launch();

  const std::shared_ptr<const Gpu> gpu_;
  const exec::FailureProbe probe_;
  const LossReport lost_;
  const int pe_;
  mutable std::atomic<bool> loss_told_{false};
  const bool ours_;
  CUstream stream_ = nullptr;
  std::atomic<bool> closed_{false};
  mutable std::shared_mutex in_use_;
  const bool paced_;
  std::mutex pace_mutex_;
  std::shared_ptr<exec::EventState> last_launch_;
  const std::shared_ptr<Failures> failures_ = std::make_shared<Failures>();
};

}  // namespace isotope::cuda
