// In-order queues of work, run by whoever waits for them or by a worker of their own.
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "exec/backoff.hpp"
#include "exec/event.hpp"
#include "exec/exec.hpp"
#include "exec/grid.hpp"
#include "isotope/base/error.hpp"
#include "os/clock.hpp"
#include "os/thread.hpp"

namespace isotope::exec {

class CpuQueue final : public StreamQueue {
 public:
  struct Impl;
  explicit CpuQueue(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  ~CpuQueue() override { CpuQueue::close(); }

  void launch(const GridSpec& spec, std::function<void()> body) override;
  void run(const GridSpec& spec, const std::function<void()>& body) override;
  void call(std::function<void()> fn) override;
  std::shared_ptr<EventState> record() override;
  void wait(std::shared_ptr<EventState> event) override;
  bool idle() const override;
  void synchronize() override;
  std::exception_ptr pending_failure() const override;
  void close() noexcept override;

  /// Runs work up to the one numbered `sequence` on the calling thread, unless some thread runs this queue already.
  /// Returns whether it ran any. For waits behind that work.
  bool help(std::uint64_t sequence);
  /// Whether the calling thread is inside work of this queue.
  bool runs_here() const noexcept;

 private:
  std::shared_ptr<Impl> impl_;  // shared with the worker: a callback may drop the last handle
};

namespace {

/// A mark in a queue, passed once.
class CpuEvent final : public EventState {
 public:
  explicit CpuEvent(std::weak_ptr<CpuQueue> where) : queue(std::move(where)) {}
  bool finished() const override { return passed.load(std::memory_order_acquire); }
  void synchronize() override { wait_until_passed(nullptr); }
  /// Until it is passed or `stop` is set. Runs the work before the event itself if nobody else does.
  void wait_until_passed(const std::atomic<bool>* stop);

  std::atomic<bool> passed{false};
  const std::weak_ptr<CpuQueue> queue;  // where it was recorded
  std::uint64_t sequence = 0;           // its place there
};

// While there has been work lately the worker looks for more this often, so that a launch needs no system call to wake
// it.
constexpr std::chrono::microseconds kPollInterval{500};
// After this long without any it sleeps until it is woken. Each look takes the CPU from whoever works there: 2000 of them
// a second cost a copy next door 5 to 10 % of its speed.
constexpr std::uint64_t kHotNs = 2'000'000;
// Who waits for another thread to finish work polls this long before it sleeps.
constexpr std::uint64_t kPatienceNs = 50'000;
// Waits for events may run other queues' work, which waits for events ...
constexpr int kMaxHelpDepth = 64;

enum class WorkKind { kernel, call, record, wait };

struct Work {
  Work* next = nullptr;
  WorkKind kind;
  GridSpec spec{};
  std::function<void()> fn{};
  std::shared_ptr<CpuEvent> event{};
};

// The queues this thread is running work of, innermost first.
struct Running {
  const void* queue;
  const Running* outer;
  int depth;
};
constinit thread_local const Running* t_running = nullptr;

bool running_here(const void* queue) {
  for (const Running* r = t_running; r != nullptr; r = r->outer) {
    if (r->queue == queue) return true;
  }
  return false;
}

void drop(Work* work) {
  while (work != nullptr) {
    Work* next = work->next;
    if (work->kind == WorkKind::record) work->event->passed.store(true, std::memory_order_release);
    delete work;
    work = next;
  }
}

}  // namespace

struct CpuQueue::Impl {
  Impl(ExecLimits l, FailureProbe p) : limits(l), probe(std::move(p)) {}
  ~Impl() { drop(head); }

  const ExecLimits limits;
  const FailureProbe probe;

  std::mutex mutex;  // everything below but the atomics is guarded by it, and those are written under it
  Work* head = nullptr;
  Work* tail = nullptr;
  std::atomic<std::uint64_t> enqueued{0};
  std::atomic<std::uint64_t> finished{0};  // work numbered 1 .. finished is done
  std::atomic<bool> busy{false};           // some thread runs work
  std::atomic<bool> closed{false};
  std::exception_ptr failure;
  std::thread worker;
  std::condition_variable wake;
  bool worker_sleeps = false;
  std::condition_variable done;  // for those who sleep until work is finished
  int sleepers = 0;

  static std::uint64_t enqueue(const std::shared_ptr<Impl>& self, std::unique_ptr<Work> work);
  static void worker_main(const std::shared_ptr<Impl>& self);
  void check_open() const;
  void check_may_wait() const;
  class Turn;
  void run(std::unique_lock<std::mutex>& lock, std::uint64_t until);
  std::exception_ptr run_one(std::unique_lock<std::mutex>& lock, Work& work);
  std::exception_ptr execute(Work& work) noexcept;
  void wait_until_done(std::unique_lock<std::mutex>& lock, std::uint64_t target);
};

void CpuQueue::Impl::check_open() const {
  if (closed)
    throw Error(Code::not_initialized, "this stream's World is gone; nothing can be launched on or asked of it");
}

/// For whoever is about to wait for this queue's work.
void CpuQueue::Impl::check_may_wait() const {
  if (current_fiber() != nullptr) {
    throw Error(Code::invalid_argument,
                "synchronize called inside a kernel, which would wait for itself; call it from host code");
  }
  if (running_here(this)) {
    throw Error(Code::invalid_argument,
                "synchronize called inside a host callback of the same stream (or of one that this stream waits for), "
                "which would wait "
                "for itself; use an event, or synchronize another stream");
  }
}

std::uint64_t CpuQueue::Impl::enqueue(const std::shared_ptr<Impl>& self, std::unique_ptr<Work> work) {
  Impl& q = *self;
  bool wake_worker = false;
  std::uint64_t number = 0;
  {
    std::lock_guard lock(q.mutex);
    q.check_open();
    if (!q.worker.joinable()) q.worker = os::start_thread("isotope-stream", [self] { worker_main(self); });
    number = q.enqueued.load(std::memory_order_relaxed) + 1;
    if (work->kind == WorkKind::record) work->event->sequence = number;
    (q.head == nullptr ? q.head : q.tail->next) = work.get();
    q.tail = work.release();
    q.enqueued.store(number, std::memory_order_release);
    // Whoever is busy wakes it itself if it leaves work behind.
    wake_worker = q.worker_sleeps && !q.busy.load(std::memory_order_relaxed);
    if (wake_worker) q.worker_sleeps = false;
  }
  if (wake_worker) q.wake.notify_one();
  return number;
}

// The calling thread's turn at running work. It holds the lock when it begins and ends, and nobody else is busy.
class CpuQueue::Impl::Turn {
 public:
  explicit Turn(Impl& q) : q_(q), frame_{&q, t_running, t_running == nullptr ? 1 : t_running->depth + 1} {
    t_running = &frame_;
    q.busy.store(true, std::memory_order_relaxed);
  }
  ~Turn() {
    q_.busy.store(false, std::memory_order_release);
    if (q_.sleepers > 0) q_.done.notify_all();
    t_running = frame_.outer;
    if (q_.head != nullptr && std::exchange(q_.worker_sleeps, false)) q_.wake.notify_one();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Impl& q_;
  const Running frame_;
};

// One piece of work, without the lock, which the caller has before and after.
std::exception_ptr CpuQueue::Impl::run_one(std::unique_lock<std::mutex>& lock, Work& work) {
  lock.unlock();
  std::exception_ptr error = execute(work);
  work.fn = nullptr;  // the end of what it holds may take the lock
  work.event = nullptr;
  lock.lock();
  finished.store(finished.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  if (sleepers > 0) done.notify_all();
  return error;
}

// Runs work up to the one numbered `until`, or until the queue is closed.
void CpuQueue::Impl::run(std::unique_lock<std::mutex>& lock, std::uint64_t until) {
  const Turn turn(*this);
  while (head != nullptr && finished.load(std::memory_order_relaxed) < until) {
    const std::unique_ptr<Work> work(head);
    head = work->next;
    std::exception_ptr error = run_one(lock, *work);
    if (error && !failure) failure = std::move(error);
  }
}

std::exception_ptr CpuQueue::Impl::execute(Work& work) noexcept {
  std::exception_ptr error;
  try {
    switch (work.kind) {
      case WorkKind::kernel:
        run_grid(work.spec, limits, work.fn);
        break;
      case WorkKind::call:
        work.fn();
        break;
      case WorkKind::record:
        work.event->passed.store(true, std::memory_order_release);
        return nullptr;
      case WorkKind::wait:
        work.event->wait_until_passed(&closed);
        return nullptr;
    }
  } catch (...) {
    error = std::current_exception();
  }
  if (error && work.kind == WorkKind::call) {
    std::string what = "an object that is no std::exception";
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      what = e.what();
    } catch (...) {
    }
    error = std::make_exception_ptr(Error(Code::kernel_failed, "a host callback of a stream threw: " + what));
  }
  if (probe) {
    std::exception_ptr found = probe();
    if (!error) error = std::move(found);
  }
  return error;
}

void CpuQueue::Impl::wait_until_done(std::unique_lock<std::mutex>& lock, std::uint64_t target) {
  Backoff backoff;
  while (finished.load(std::memory_order_relaxed) < target && !closed) {
    if (!busy.load(std::memory_order_relaxed)) {
      run(lock, target);
      continue;
    }
    const auto others_work = [&] {
      return busy.load(std::memory_order_acquire) && finished.load(std::memory_order_acquire) < target;
    };
    lock.unlock();
    while (others_work() && !backoff.waited_longer_than(kPatienceNs)) backoff.step();
    lock.lock();
    ++sleepers;
    done.wait(lock, [&] { return !others_work(); });
    --sleepers;
  }
}

void CpuQueue::Impl::worker_main(const std::shared_ptr<Impl>& self) {
  Impl& q = *self;
  std::unique_lock lock(q.mutex);
  std::uint64_t seen = 0, seen_finished = 0;
  std::uint64_t last_work_ns = os::now_ns();
  while (!q.closed) {
    if (q.head != nullptr && !q.busy.load(std::memory_order_relaxed)) q.run(lock, ~std::uint64_t{0});
    const std::uint64_t enqueued = q.enqueued.load(std::memory_order_relaxed);
    const std::uint64_t now = os::now_ns();
    if (enqueued != seen) {
      seen = enqueued;
      last_work_ns = now;
    }
    if (q.closed) break;
    // Somebody else has run one piece of work for as long as we slept: there is nothing to look for.
    const std::uint64_t finished = q.finished.load(std::memory_order_relaxed);
    const bool not_needed = q.busy.load(std::memory_order_relaxed) && finished == seen_finished;
    seen_finished = finished;
    if (not_needed || (q.head == nullptr && now - last_work_ns > kHotNs)) {
      q.worker_sleeps = true;
      q.wake.wait(lock, [&q] { return !q.worker_sleeps || q.closed; });
      q.worker_sleeps = false;
      last_work_ns = os::now_ns();
    } else {
      q.wake.wait_for(lock, kPollInterval);
    }
  }
}

std::shared_ptr<StreamQueue> StreamQueue::create(ExecLimits limits, FailureProbe probe) {
  return std::make_shared<CpuQueue>(std::make_shared<CpuQueue::Impl>(limits, std::move(probe)));
}

void CpuQueue::launch(const GridSpec& spec, std::function<void()> body) {
  check_grid(spec, impl_->limits);
  Impl::enqueue(impl_, std::unique_ptr<Work>(new Work{.kind = WorkKind::kernel, .spec = spec, .fn = std::move(body)}));
}

void CpuQueue::run(const GridSpec& spec, const std::function<void()>& body) {
  const std::shared_ptr<Impl> impl = impl_;
  Impl& q = *impl;
  q.check_may_wait();
  std::unique_lock lock(q.mutex);
  q.check_open();
  if (q.head != nullptr || q.busy.load(std::memory_order_relaxed)) {
    lock.unlock();
    return StreamQueue::run(spec, body);
  }
  std::exception_ptr failure = std::exchange(q.failure, nullptr);
  q.enqueued.store(q.enqueued.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  {
    const Impl::Turn turn(q);
    Work work{.kind = WorkKind::kernel, .spec = spec, .fn = [&body] { body(); }};
    std::exception_ptr error = q.run_one(lock, work);
    if (!failure) failure = std::move(error);
  }
  lock.unlock();
  if (failure) std::rethrow_exception(failure);
}

void CpuQueue::call(std::function<void()> fn) {
  if (!fn) throw Error(Code::invalid_argument, "Stream::call got an empty function; pass one that can be called");
  Impl::enqueue(impl_, std::unique_ptr<Work>(new Work{.kind = WorkKind::call, .fn = std::move(fn)}));
}

std::shared_ptr<EventState> CpuQueue::record() {
  auto event = std::make_shared<CpuEvent>(std::static_pointer_cast<CpuQueue>(shared_from_this()));
  Impl::enqueue(impl_, std::unique_ptr<Work>(new Work{.kind = WorkKind::record, .event = event}));
  return event;
}

void CpuQueue::wait(std::shared_ptr<EventState> event) {
  if (auto mark = std::dynamic_pointer_cast<CpuEvent>(event)) {
    Impl::enqueue(impl_, std::unique_ptr<Work>(new Work{.kind = WorkKind::wait, .event = std::move(mark)}));
  } else {
    call([event = std::move(event)] { event->synchronize(); });  // of another platform's queue
  }
}

bool CpuQueue::idle() const {
  const std::uint64_t enqueued = impl_->enqueued.load(std::memory_order_acquire);
  return impl_->finished.load(std::memory_order_acquire) >= enqueued || impl_->closed;
}

void CpuQueue::synchronize() {
  const std::shared_ptr<Impl> impl = impl_;  // a callback may drop the last handle
  Impl& q = *impl;
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
  const std::lock_guard lock(impl_->mutex);
  return impl_->failure;
}

bool CpuQueue::runs_here() const noexcept { return running_here(impl_.get()); }

bool CpuQueue::help(std::uint64_t sequence) {
  const std::shared_ptr<Impl> impl = impl_;
  Impl& q = *impl;
  if (q.busy.load(std::memory_order_relaxed) || running_here(&q) ||
      (t_running != nullptr && t_running->depth >= kMaxHelpDepth))
    return false;
  std::unique_lock lock(q.mutex);
  if (q.busy.load(std::memory_order_relaxed) || q.head == nullptr ||
      q.finished.load(std::memory_order_relaxed) >= sequence)
    return false;
  q.run(lock, sequence);
  return true;
}

void CpuQueue::close() noexcept {
  Impl& q = *impl_;
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
