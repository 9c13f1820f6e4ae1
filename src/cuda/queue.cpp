#include "cuda/queue.hpp"

#include <fmt/format.h>

#include <thread>
#include <utility>

#include "cuda/errors.hpp"
#include "exec/event.hpp"

namespace isotope::cuda {

namespace {

class GpuEvent final : public exec::EventState {
 public:
  GpuEvent(std::shared_ptr<const Gpu> gpu, CUstream stream) : gpu_(std::move(gpu)) {
    const Current current(gpu_->context());
    check(gpu_->calls().cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    if (const CUresult result = gpu_->calls().cuEventRecord(event_, stream); result != CUDA_SUCCESS) {
      gpu_->calls().cuEventDestroy(event_);
      check(result, "cuEventRecord");
    }
  }
  ~GpuEvent() override { gpu_->calls().cuEventDestroy(event_); }
  GpuEvent(const GpuEvent&) = delete;
  GpuEvent& operator=(const GpuEvent&) = delete;

  // One that failed with its work is over too; synchronize on the stream says what happened. Inside a callback the
  // driver answers nothing.
  bool finished() const override {
    const CurrentAtEnd current(gpu_->context());
    if (!current) return false;
    const Relaxed relaxed(gpu_->calls());
    const CUresult result = gpu_->calls().cuEventQuery(event_);
    return result != CUDA_ERROR_NOT_READY && result != CUDA_ERROR_NOT_PERMITTED;
  }
  void synchronize() override {
    const Current current(gpu_->context());
    const Relaxed relaxed(gpu_->calls());
    if (gpu_->calls().cuEventSynchronize(event_) == CUDA_ERROR_NOT_PERMITTED) {
      throw Error(Code::invalid_argument,
                  "Event::synchronize called inside a host callback of a stream; the GPU's "
                  "driver allows none of its calls there");
    }
  }
  CUevent event() const noexcept { return event_; }

 private:
  std::shared_ptr<const Gpu> gpu_;
  CUevent event_ = nullptr;
};

struct Callback {
  std::function<void()> fn;
  std::shared_ptr<GpuQueue::Failures> failures;
};

void CUDA_CB run_callback(void* data) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  std::string what;
  try {
    callback->fn();
    return;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
    what = "an object that is no std::exception";
  }
  const std::lock_guard lock(callback->failures->mutex);
  if (!callback->failures->first) {
    callback->failures->first =
        std::make_exception_ptr(Error(Code::kernel_failed, "a host callback of a stream threw: " + what));
  }
}

Error joined(const std::exception_ptr& first, const Error& then) {
  try {
    std::rethrow_exception(first);
  } catch (const Error& error) {
    return Error(error.code(), fmt::format("{}. And then: {}", error.what(), then.what()), error.pe(), error.peer(),
                 error.site());
  } catch (...) {
    return then;
  }
}

}  // namespace

GpuQueue::GpuQueue(std::shared_ptr<const Gpu> gpu, exec::FailureProbe probe, CUstream theirs, bool paced,
                   LossReport lost, int pe)
    : gpu_(std::move(gpu)),
      probe_(std::move(probe)),
      lost_(std::move(lost)),
      pe_(pe),
      ours_(theirs == nullptr),
      stream_(theirs),
      paced_(paced) {
  if (!ours_) return;
  const Current current(gpu_->context());
  const CUresult made = gpu_->calls().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING);
  if (made != CUDA_SUCCESS) throw_if_lost();
  check(made, "cuStreamCreate");
}

std::shared_lock<std::shared_mutex> GpuQueue::enter() const {
  std::shared_lock lock(in_use_);
  if (closed_.load(std::memory_order_acquire))
    throw Error(Code::not_initialized, "this stream's World is gone; nothing can be launched on or asked of it");
  return lock;
}

void GpuQueue::launch_gpu(const detail::GpuKernel& kernel, detail::GpuLaunch how, void** arguments) {
  const auto open = enter();
  const Current current(gpu_->context());
  how.stream = stream_;
  std::unique_lock<std::mutex> turn;
  if (paced_) turn = await_last_launch();
  if (const int error = kernel.calls->launch(kernel.entry, how, arguments); error != 0) {
    throw_if_lost();
    throw Error(
        Code::kernel_failed,
        fmt::format("launching {} x {} x {} blocks of {} x {} x {} threads with {} bytes of shared memory on GPU "
                    "{}: {} (CUDA error {}){}",
                    how.grid.x, how.grid.y, how.grid.z, how.block.x, how.block.y, how.block.z, how.shared_bytes,
                    gpu_->index(), kernel.calls->error_text(error), error, advice_on_launch(error, *gpu_)));
  }
  if (paced_ && !captures()) last_launch_ = std::make_shared<GpuEvent>(gpu_, stream_);
}

bool GpuQueue::captures() const noexcept {
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  gpu_->calls().cuStreamIsCapturing(stream_, &capture);
  return capture != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUresult GpuQueue::ask() const noexcept {
  const CurrentAtEnd current(gpu_->context());
  if (!current) return CUDA_ERROR_NOT_READY;
  // To ask a stream that is being captured would end the capture.
  if (captures()) return CUDA_ERROR_NOT_READY;
  const Relaxed relaxed(gpu_->calls());
  return gpu_->calls().cuStreamQuery(stream_);
}

void GpuQueue::throw_if_lost() const {
  if (const CUresult state = gpu_->state(); loses_gpu(state)) throw failure_of(state);
}

Error GpuQueue::failure_of(CUresult result) const {
  try {
    check(result, fmt::format("a kernel on GPU {} failed", gpu_->index()).c_str(), Code::kernel_failed);
  } catch (const Error& error) {
    if (!loses_gpu(result)) return Error(error.code(), error.what(), pe_);
    const std::string lost = fmt::format("{}. This process can use the GPU no more", error.what());
    if (lost_ && !loss_told_.exchange(true)) lost_(lost);
    return Error(Code::kernel_failed, lost, pe_);
  }
  return Error(Code::internal, "work that did not fail was said to");
}

std::unique_lock<std::mutex> GpuQueue::await_last_launch() {
  std::unique_lock turn(pace_mutex_);
  const Relaxed relaxed(gpu_->calls());
  // Kernels end, by their deadlines if not otherwise.
  while (last_launch_ && !captures()) {
    const CUresult result = gpu_->calls().cuEventQuery(static_cast<const GpuEvent&>(*last_launch_).event());
    if (result == CUDA_ERROR_NOT_PERMITTED)
      throw Error(Code::invalid_argument,
                  "a kernel was launched inside a host callback of a stream; the GPU's driver allows "
                  "none of its calls there");
    if (result != CUDA_ERROR_NOT_READY) break;
    std::this_thread::yield();
  }
  return turn;
}

void GpuQueue::launch(const exec::GridSpec&, std::function<void()>) {
  throw Error(Code::internal, "a host function was launched as a kernel of a GPU");
}

void GpuQueue::call(std::function<void()> fn) {
  if (!fn) throw Error(Code::invalid_argument, "Stream::call got an empty function; pass one that can be called");
  const auto open = enter();
  const Current current(gpu_->context());
  // It goes when it has run, and a graph may run it again, or never.
  if (captures()) {
    throw Error(
        Code::not_supported,
        "Stream::call on a stream that is being captured: it would be gone at the second replay. Call it before "
        "or after the replay, or add a function of your own with cudaLaunchHostFunc",
        pe_);
  }
  auto callback = std::make_unique<Callback>(Callback{std::move(fn), failures_});
  check(gpu_->calls().cuLaunchHostFunc(stream_, &run_callback, callback.get()), "cuLaunchHostFunc");
  static_cast<void>(callback.release());
}

std::shared_ptr<exec::EventState> GpuQueue::record() {
  const auto open = enter();
  return std::make_shared<GpuEvent>(gpu_, stream_);
}

void GpuQueue::wait(std::shared_ptr<exec::EventState> event) {
  if (const auto here = std::dynamic_pointer_cast<GpuEvent>(event)) {
    const auto open = enter();
    const Current current(gpu_->context());
    check(gpu_->calls().cuStreamWaitEvent(stream_, here->event(), 0), "cuStreamWaitEvent");
  } else {
    call([event = std::move(event)] { event->synchronize(); });  // of another platform's queue
  }
}

bool GpuQueue::is_captured() const noexcept {
  const std::shared_lock lock(in_use_);
  if (closed_.load(std::memory_order_acquire)) return false;
  const CurrentAtEnd current(gpu_->context());
  return current && captures();
}

bool GpuQueue::idle() const {
  const std::shared_lock lock(in_use_);
  if (closed_.load(std::memory_order_acquire)) return true;
  return ask() != CUDA_ERROR_NOT_READY;
}

void GpuQueue::synchronize() {
  const auto open = enter();
  CUresult result = CUDA_SUCCESS;
  {
    const Current current(gpu_->context());
    // The driver would end the capture, and nothing of it has begun.
    if (captures()) {
      throw Error(
          Code::not_supported,
          "synchronize on a stream that is being captured: what was enqueued on it runs when the graph does. End "
          "the capture first",
          pe_);
    }
    const Relaxed relaxed(gpu_->calls());
    result = gpu_->calls().cuStreamSynchronize(stream_);
  }
  if (result == CUDA_ERROR_NOT_PERMITTED) {
    throw Error(Code::invalid_argument,
                "synchronize called inside a host callback of a stream, which would wait for itself; use an event");
  }
  std::exception_ptr failure;
  {
    const std::lock_guard lock(failures_->mutex);
    failure = std::exchange(failures_->first, nullptr);
  }
  if (probe_ && !failure) failure = probe_();
  const bool news = !loss_told_;
  if (result == CUDA_SUCCESS) {
    if (failure) std::rethrow_exception(failure);
    return;
  }
  const Error here = failure_of(result);
  if (!failure) throw here;
  // What ended the job, or a wait in it, comes first; what became of the GPU is not kept back.
  if (news && loses_gpu(result)) throw joined(failure, here);
  std::rethrow_exception(failure);
}

std::exception_ptr GpuQueue::kept_failure() const {
  const std::lock_guard lock(failures_->mutex);
  return failures_->first;
}

std::exception_ptr GpuQueue::pending_failure() const {
  if (auto kept = kept_failure()) return kept;
  const std::shared_lock lock(in_use_);
  if (closed_.load(std::memory_order_acquire)) return nullptr;
  const CUresult result = ask();
  return loses_gpu(result) ? std::make_exception_ptr(failure_of(result)) : nullptr;
}

void GpuQueue::close() noexcept {
  if (closed_.exchange(true, std::memory_order_acq_rel)) return;
  // Whoever came before is let out first; who comes later is told. Not held while waiting for the stream: a callback in
  // front of us may ask this queue something.
  {
    const std::unique_lock last(in_use_);
  }
  const CurrentAtEnd current(gpu_->context());
  if (!current) return;
  const Relaxed relaxed(gpu_->calls());
  if (ours_ || !captures()) gpu_->calls().cuStreamSynchronize(stream_);
  if (ours_) gpu_->calls().cuStreamDestroy(stream_);
}

}  // namespace isotope::cuda
