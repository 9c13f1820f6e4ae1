// In-order queues of work on the CPU: what callers see of them. queue_line.hpp has the rest.
#include <utility>

#include "exec/backoff.hpp"
#include "exec/grid.hpp"
#include "exec/queue_line.hpp"
#include "isotope/base/error.hpp"

namespace isotope::exec {

namespace {
// Waits for events may run other queues' work, which waits for events ...
constexpr int kMaxHelpDepth = 64;
}  // namespace

std::shared_ptr<StreamQueue> StreamQueue::create(ExecLimits limits, FailureProbe probe) {
  return std::make_shared<CpuQueue>(std::make_shared<QueueLine>(limits, std::move(probe)));
}

void CpuQueue::launch(const GridSpec& spec, std::function<void()> body) {
  check_grid(spec, line_->limits);
  QueueLine::enqueue(line_,
                     std::unique_ptr<Work>(new Work{.kind = WorkKind::kernel, .spec = spec, .fn = std::move(body)}));
}

void CpuQueue::run(const GridSpec& spec, const std::function<void()>& body) {
  const std::shared_ptr<QueueLine> line = line_;
  QueueLine& q = *line;
  q.check_may_wait();
  std::unique_lock lock(q.mutex);
  q.check_open();
  if (q.head != nullptr || q.busy.load(std::memory_order_relaxed)) {
    lock.unlock();
    return StreamQueue::run(spec, body);
  }
  std::exception_ptr failure = std::exchange(q.failure, nullptr);
  Work work{.kind = WorkKind::kernel, .spec = spec, .fn = [&body] { body(); }};
  std::exception_ptr error = q.run_alone(lock, work);
  if (!failure) failure = std::move(error);
  lock.unlock();
  if (failure) std::rethrow_exception(failure);
}

void CpuQueue::call(std::function<void()> fn) {
  if (!fn) throw Error(Code::invalid_argument, "Stream::call got an empty function; pass one that can be called");
  QueueLine::enqueue(line_, std::unique_ptr<Work>(new Work{.kind = WorkKind::call, .fn = std::move(fn)}));
}

std::shared_ptr<EventState> CpuQueue::record() {
  auto event = std::make_shared<CpuEvent>(std::static_pointer_cast<CpuQueue>(shared_from_this()));
  QueueLine::enqueue(line_, std::unique_ptr<Work>(new Work{.kind = WorkKind::record, .event = event}));
  return event;
}

void CpuQueue::wait(std::shared_ptr<EventState> event) {
  if (auto mark = std::dynamic_pointer_cast<CpuEvent>(event)) {
    QueueLine::enqueue(line_, std::unique_ptr<Work>(new Work{.kind = WorkKind::wait, .event = std::move(mark)}));
  } else {
    call([event = std::move(event)] { event->synchronize(); });  // of another platform's queue
  }
}

bool CpuQueue::idle() const {
  const std::uint64_t enqueued = line_->enqueued.load(std::memory_order_acquire);
  return line_->finished.load(std::memory_order_acquire) >= enqueued || line_->closed;
}

void CpuQueue::synchronize() {
  const std::shared_ptr<QueueLine> line = line_;  // a callback may drop the last handle
  QueueLine& q = *line;
  q.check_may_wait();
  std::unique_lock lock(q.mutex);
  q.check_open();
  q.wait_until_done(lock, q.enqueued.load(std::memory_order_relaxed));
  q.check_open();
  std::exception_ptr failure = std::exchange(q.failure, nullptr);
  lock.unlock();
  if (q.probe && !failure) failure = q.probe();
  if (failure) std::rethrow_exception(failure);
}

std::exception_ptr CpuQueue::pending_failure() const {
  const std::lock_guard lock(line_->mutex);
  return line_->failure;
}

bool CpuQueue::runs_here() const noexcept { return running_here(line_.get()); }

bool CpuQueue::help(std::uint64_t sequence) {
  const std::shared_ptr<QueueLine> line = line_;
  QueueLine& q = *line;
  if (q.busy.load(std::memory_order_relaxed) || running_here(&q) || running_depth() >= kMaxHelpDepth) return false;
  std::unique_lock lock(q.mutex);
  if (q.busy.load(std::memory_order_relaxed) || q.head == nullptr ||
      q.finished.load(std::memory_order_relaxed) >= sequence)
    return false;
  q.run(lock, sequence);
  return true;
}

void CpuQueue::close() noexcept {
  QueueLine& q = *line_;
  Work* dropped = nullptr;
  {
    std::lock_guard lock(q.mutex);
    q.closed = true;
    dropped = std::exchange(q.head, nullptr);
  }
  q.wake.notify_all();
  drop(dropped);
  if (!running_here(&q)) {
    Backoff backoff;
    while (q.busy.load(std::memory_order_acquire)) backoff.step();
  }
  std::thread worker;
  {
    std::lock_guard lock(q.mutex);
    worker.swap(q.worker);
  }
  if (!worker.joinable()) return;
  if (worker.get_id() == std::this_thread::get_id()) {
    worker.detach();  // a callback dropped the last handle: the worker ends by itself, it owns what it needs
  } else {
    worker.join();
  }
}

void CpuEvent::wait_until_passed(const std::atomic<bool>* stop) {
  if (current_fiber() != nullptr) {
    throw Error(Code::invalid_argument, "Event::synchronize called inside a kernel; call it from host code");
  }
  Backoff backoff;
  while (!finished()) {
    if (stop != nullptr && stop->load(std::memory_order_acquire)) return;
    if (const auto behind = queue.lock()) {
      if (behind->help(sequence)) continue;
      if (behind->runs_here()) {
        throw Error(Code::invalid_argument,
                    "Event::synchronize called inside a host callback that comes before the event on its stream, which "
                    "would wait for "
                    "itself");
      }
    }
    backoff.step();
  }
}

}  // namespace isotope::exec
