// Streams of a World, and what a wait that gave up becomes: recorded by the kernel, reported once by the host, then
// cleared.
#include <fmt/format.h>

#include "runtime/end_process.hpp"
#include "runtime/world_core.hpp"

namespace isotope::runtime {

std::shared_ptr<exec::StreamQueue> WorldCore::default_stream() {
  {
    const std::lock_guard lock(mutex_);
    if (!streams_.empty()) return streams_.front();
  }
  return make_stream();
}

std::shared_ptr<exec::StreamQueue> WorldCore::create_stream() {
  default_stream();  // the first of the list stays our own
  return make_stream();
}

std::shared_ptr<exec::StreamQueue> WorldCore::make_stream() {
  std::vector<std::shared_ptr<exec::StreamQueue>> unused;  // they end outside of the lock
  {
    const std::lock_guard lock(mutex_);
    unused = take_unused_streams();
    if (!spare_.empty()) {
      streams_.push_back(std::move(spare_.back()));
      spare_.pop_back();
      return streams_.back();
    }
  }
  const auto probe = [this] { return failure(true); };
  auto queue =
      gpu_ != nullptr ? gpu_->create_queue(probe, loss_report()) : exec::StreamQueue::create(exec_limits_, probe);
  const std::lock_guard lock(mutex_);
  streams_.push_back(queue);
  return queue;
}

std::function<void(const std::string&)> WorldCore::loss_report() {
  return [this](const std::string& what) {
    // All PEs of a GPU lose it at once: the first to find out need not be the one that did it.
    const bool shared = gpu_->is_shared();
    abort(Code::kernel_failed,
          fmt::format("PE {} {}: {}", rank_,
                      shared ? "found its GPU lost, to all PEs on it, whichever PE's kernel it was" : "lost its GPU",
                      what),
          shared ? Error::kNobody : rank_);
  };
}

std::shared_ptr<exec::StreamQueue> WorldCore::wrap_stream(void* theirs) {
  if (gpu_ == nullptr)
    throw Error(Code::not_supported, "wrap_stream: kernels of this PE run on the CPU, which has no CUDA streams",
                rank_);
  default_stream();  // the first of the list stays our own
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = wrapped_.find(theirs); known != wrapped_.end()) return known->second.lock();
  }
  auto queue = gpu_->wrap_queue([this] { return failure(true); }, loss_report(), theirs);
  std::vector<std::shared_ptr<exec::StreamQueue>> unused;  // they end outside of the lock
  const std::lock_guard lock(mutex_);
  unused = take_unused_streams();
  const auto [known, is_new] = wrapped_.try_emplace(theirs, queue);
  if (!is_new) return known->second.lock();  // another thread's
  streams_.push_back(queue);
  return queue;
}

std::vector<std::shared_ptr<exec::StreamQueue>> WorldCore::take_unused_streams() {
  std::vector<std::shared_ptr<exec::StreamQueue>> unused;
  for (std::size_t i = streams_.size(); i > 1; --i) {
    auto& stream = streams_[i - 1];
    // Nobody else holds it, so nobody can begin to use it, and what it still has to tell has been told.
    if (stream.use_count() > 1 || !stream->idle() || stream->pending_failure()) continue;
    // A user's stream is forgotten here and now: who wraps it again gets a queue that is in the list. One of our own
    // stays for the next who wants one: to destroy it may wait for the kernels of peers. Those of the CPU end.
    const bool theirs = std::erase_if(wrapped_, [&](const auto& entry) { return entry.second.lock() == stream; }) != 0;
    (theirs || gpu_ == nullptr ? unused : spare_).push_back(std::move(stream));
    streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(i) - 1);
  }
  return unused;
}

void WorldCore::launch(const LaunchConfig& config, const std::shared_ptr<exec::StreamQueue>& queue,
                       std::function<void()> body) {
  rearm_if_idle();
  queue->launch({config.grid, config.block, config.shared_bytes}, std::move(body));
}

void WorldCore::run(const LaunchConfig& config, const std::function<void()>& body) {
  rearm_if_idle();
  default_stream()->run({config.grid, config.block, config.shared_bytes}, body);
}

void WorldCore::launch_gpu(const LaunchConfig& config, const std::shared_ptr<exec::StreamQueue>& queue,
                           const detail::GpuKernel& kernel, void** arguments) {
  rearm_if_idle();
  gpu_->launch(*queue, config, kernel, arguments);
}

void WorldCore::synchronize() {
  std::vector<std::shared_ptr<exec::StreamQueue>> streams;
  {
    const std::lock_guard lock(mutex_);
    streams = streams_;
  }
  std::exception_ptr first;
  for (const auto& stream : streams) {
    if (stream->is_captured()) continue;  // nothing on it is under way; what it has to tell is told later
    try {
      stream->synchronize();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  // With no stream at all the job may have ended nevertheless.
  if (!first) first = failure(true);
  tell_all();
  rearm_if_idle();
  if (first) std::rethrow_exception(first);
}

std::exception_ptr WorldCore::next_failure() {
  std::vector<std::shared_ptr<exec::StreamQueue>> streams;
  {
    const std::lock_guard lock(mutex_);
    streams = streams_;
  }
  for (const auto& stream : streams) {
    if (stream->is_captured()) continue;  // as synchronize does
    if (auto kept = stream->kept_failure()) return kept;
    if (auto failed = failure(false)) return failed;
    if (auto lost = stream->pending_failure()) {
      // Once that is told it is the job's end, which is what synchronize throws.
      auto ended = failure(false);
      return ended ? ended : lost;
    }
  }
  return failure(false);
}

std::exception_ptr WorldCore::failure(bool report) {
  const auto notice = job_->segment().aborted();
  if (notice && notice->code == Code::exited) end_process(notice->exit_code);
  const std::lock_guard lock(mutex_);
  const bool fault = load(&faults_->complete, Order::acquire) != 0;
  if (fault && !fault_reported_) {
    if (report) {
      fault_reported_ = true;
      untold_stops_ = count_stops() - 1;  // below 0: that one's stop is seen later
      take_record();
    }
    return std::make_exception_ptr(fault_error(*faults_));
  }
  if (fault_reported_) {
    untold_stops_ += count_stops();
    if (untold_stops_ > 0) {
      const bool recorded = faults_->address != told_.address || faults_->waited_ns != told_.waited_ns ||
                            faults_->call != told_.call || faults_->site.line != told_.site.line;
      const Error error = recorded ? fault_error(*faults_) : unrecorded_error();
      if (report) {
        --untold_stops_;
        take_record();
      }
      return std::make_exception_ptr(error);
    }
  }
  if (notice) return std::make_exception_ptr(error_from(*notice, rank_));
  return nullptr;
}

Error WorldCore::unrecorded_error() const {
  return Error(Code::timeout,
               fmt::format("a call on another team gave up on PE {}, too, before the failure of the first one had been "
                           "reported; what it waited for was not kept",
                           rank_),
               rank_);
}

void WorldCore::take_record() {
  told_ = *faults_;
  if (gpu_ != nullptr) {
    gpu_->release_record();
  } else {
    store(&control_.fault_claimed, 0u, Order::release);
  }
}

void WorldCore::tell_all() {
  const std::lock_guard lock(mutex_);
  if (!fault_reported_) return;
  count_stops();
  untold_stops_ = 0;
}

int WorldCore::count_stops() {
  int fresh = 0;
  for (const auto& weak : teams_) {
    const auto record = weak.lock();
    if (!record || record->stop_counted) continue;
    record->stop_counted = gpu_ != nullptr ? gpu_->stopped(record->id) : load(&record->state.stopped) != 0;
    if (!record->stop_counted) continue;
    store(&record->state.stops, record->state.stops + 1);
    ++fresh;
  }
  return fresh;
}

void WorldCore::rearm_if_idle() {
  const std::lock_guard lock(mutex_);
  if (!fault_reported_) return;
  for (const auto& stream : streams_) {
    // A stream that keeps the failure for its next synchronize has told nobody yet.
    if (!stream->idle() || stream->pending_failure()) return;
  }
  // A team whose failure nobody has been told of stays stopped until then.
  untold_stops_ += count_stops();
  if (untold_stops_ > 0) return;
  std::vector<std::uint32_t> ids;
  for (const auto& weak : teams_) {
    if (const auto record = weak.lock()) {
      record->state.grid = 0;  // no kernel runs: a grid sync that was cut short starts anew
      store(&record->state.stopped, 0u, Order::release);
      record->stop_counted = false;
      ids.push_back(record->id);
    }
  }
  if (gpu_ != nullptr) gpu_->rearm(ids);
  fault_reported_ = false;
  untold_stops_ = 0;
  store(&faults_->complete, 0u);
  take_record();
}

}  // namespace isotope::runtime
