// The CPU's in-order queue: what is in it, and who runs it.
//
// A queue's work is run by whoever waits for it, by its worker, or by who runs what comes behind it in another queue;
// by one thread at a time, whose Turn it is. stream_queue.cpp is what callers see of it, queue_line.cpp the line and
// its worker.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "exec/event.hpp"
#include "exec/exec.hpp"

namespace isotope::exec {

struct QueueLine;

class CpuQueue final : public StreamQueue {
 public:
  explicit CpuQueue(std::shared_ptr<QueueLine> line) : line_(std::move(line)) {}
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
  std::shared_ptr<QueueLine> line_;  // shared with the worker: a callback may drop the last handle
};

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

enum class WorkKind { kernel, call, record, wait };

struct Work {
  Work* next = nullptr;
  WorkKind kind;
  GridSpec spec{};
  std::function<void()> fn{};
  std::shared_ptr<CpuEvent> event{};
};

/// Frees work that nobody will run; its events are passed.
void drop(Work* work);

/// Whether the calling thread is inside work of that line; and in how many it is.
bool running_here(const QueueLine* line);
int running_depth();

/// The work of one queue, in order.
struct QueueLine {
  QueueLine(ExecLimits l, FailureProbe p) : limits(l), probe(std::move(p)) {}
  ~QueueLine() { drop(head); }

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

  static void enqueue(const std::shared_ptr<QueueLine>& self, std::unique_ptr<Work> work);
  void check_open() const;
  /// For whoever is about to wait for this queue's work.
  void check_may_wait() const;
  /// Runs work up to the one numbered `until`, or until the queue is closed. Nobody else is busy.
  void run(std::unique_lock<std::mutex>& lock, std::uint64_t until);
  /// The only piece of work there is, which the line does not hold.
  std::exception_ptr run_alone(std::unique_lock<std::mutex>& lock, Work& work);
  void wait_until_done(std::unique_lock<std::mutex>& lock, std::uint64_t target);

 private:
  class Turn;
  static void worker_main(const std::shared_ptr<QueueLine>& self);
  std::exception_ptr run_one(std::unique_lock<std::mutex>& lock, Work& work);
  std::exception_ptr execute(Work& work) noexcept;
};

}  // namespace isotope::exec
