#include "exec/queue_line.hpp"

#include <chrono>

#include "exec/backoff.hpp"
#include "exec/grid.hpp"
#include "isotope/base/error.hpp"
#include "os/clock.hpp"
#include "os/thread.hpp"

namespace isotope::exec {

namespace {

// While there has been work lately the worker looks for more this often, so that a launch needs no system call to wake
// it.
constexpr std::chrono::microseconds kPollInterval{500};
// After this long without any it sleeps until it is woken. Each look takes the CPU from whoever works there: 2000 of
// them a second cost a copy next door 5 to 10 % of its speed.
constexpr std::uint64_t kHotNs = 2'000'000;
// Who waits for another thread to finish work polls this long before it sleeps.
constexpr std::uint64_t kPatienceNs = 50'000;

// The queues this thread is running work of, innermost first.
struct Running {
  const QueueLine* line;
  const Running* outer;
  int depth;
};
constinit thread_local const Running* t_running = nullptr;

}  // namespace

bool running_here(const QueueLine* line) {
  for (const Running* r = t_running; r != nullptr; r = r->outer) {
    if (r->line == line) return true;
  }
  return false;
}

int running_depth() { return t_running == nullptr ? 0 : t_running->depth; }

void drop(Work* work) {
  while (work != nullptr) {
    Work* next = work->next;
    if (work->kind == WorkKind::record) work->event->passed.store(true, std::memory_order_release);
    delete work;
    work = next;
  }
}

void QueueLine::check_open() const {
  if (closed)
    throw Error(Code::not_initialized, "this stream's World is gone; nothing can be launched on or asked of it");
}

void QueueLine::check_may_wait() const {
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

void QueueLine::enqueue(const std::shared_ptr<QueueLine>& self, std::unique_ptr<Work> work) {
  QueueLine& q = *self;
  bool wake_worker = false;
  {
    std::lock_guard lock(q.mutex);
    q.check_open();
    if (!q.worker.joinable()) q.worker = os::start_thread("isotope-stream", [self] { worker_main(self); });
    const std::uint64_t number = q.enqueued.load(std::memory_order_relaxed) + 1;
    if (work->kind == WorkKind::record) work->event->sequence = number;
    (q.head == nullptr ? q.head : q.tail->next) = work.get();
    q.tail = work.release();
    q.enqueued.store(number, std::memory_order_release);
    // Whoever is busy wakes it itself if it leaves work behind.
    wake_worker = q.worker_sleeps && !q.busy.load(std::memory_order_relaxed);
    if (wake_worker) q.worker_sleeps = false;
  }
  if (wake_worker) q.wake.notify_one();
}

// The calling thread's turn at running work. It holds the lock when it begins and ends, and nobody else is busy.
class QueueLine::Turn {
 public:
  explicit Turn(QueueLine& q) : q_(q), frame_{&q, t_running, running_depth() + 1} {
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
  QueueLine& q_;
  const Running frame_;
};

// One piece of work, without the lock, which the caller has before and after.
std::exception_ptr QueueLine::run_one(std::unique_lock<std::mutex>& lock, Work& work) {
  lock.unlock();
  std::exception_ptr error = execute(work);
  work.fn = nullptr;  // the end of what it holds may take the lock
  work.event = nullptr;
  lock.lock();
  finished.store(finished.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  if (sleepers > 0) done.notify_all();
  return error;
}

void QueueLine::run(std::unique_lock<std::mutex>& lock, std::uint64_t until) {
  const Turn turn(*this);
  while (head != nullptr && finished.load(std::memory_order_relaxed) < until) {
    const std::unique_ptr<Work> work(head);
    head = work->next;
    std::exception_ptr error = run_one(lock, *work);
    if (error && !failure) failure = std::move(error);
  }
}

std::exception_ptr QueueLine::run_alone(std::unique_lock<std::mutex>& lock, Work& work) {
  enqueued.store(enqueued.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  const Turn turn(*this);
  return run_one(lock, work);
}

std::exception_ptr QueueLine::execute(Work& work) noexcept {
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

void QueueLine::wait_until_done(std::unique_lock<std::mutex>& lock, std::uint64_t target) {
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

void QueueLine::worker_main(const std::shared_ptr<QueueLine>& self) {
  QueueLine& q = *self;
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

}  // namespace isotope::exec
