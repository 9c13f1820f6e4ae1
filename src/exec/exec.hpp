// Running kernels on the CPU: what the rest of the library sees of src/exec.
//
// A launch runs all its blocks together, since they may wait for each other. Its kernel threads are fibers on one
// operating-system thread: the stream's worker, or whoever calls synchronize() first. A body runs until it waits; only
// then is a fiber made for the next one, so a launch whose threads never wait makes no switch at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "isotope/base/dim3.hpp"
#include "isotope/host/launch.hpp"

namespace isotope::exec {

struct ExecLimits {
  std::size_t stack_bytes = 128 * 1024;  // ISOTOPE_STACK_BYTES
  std::uint64_t max_fibers = 65536;      // ISOTOPE_MAX_FIBERS
};

struct GridSpec {
  Dim3 grid, block;
  std::size_t shared_bytes = 0;
};

/// Throws Error(invalid_argument) naming the field, its value and the limit: an empty grid or block, more than
/// kMaxBlockThreads threads a block, more than kMaxSharedBytes, more threads than max_fibers (names
/// ISOTOPE_MAX_FIBERS).
void check_grid(const GridSpec& spec, const ExecLimits& limits);

/// Runs the grid to its end on the calling thread. Throws Error(kernel_failed) when a body threw (its what() inside),
/// overflowed its stack, or when every remaining thread sits in a block or warp sync that can never complete (names
/// block and threads).
void run_grid(const GridSpec& spec, const ExecLimits& limits, const std::function<void()>& body);

/// Called after each piece of work, and by synchronize(): returns the failure to throw from the next synchronize (a
/// wait that gave up, the job's end), or null. Set by the runtime. Called by whichever thread runs the work; does not
/// throw.
using FailureProbe = std::function<std::exception_ptr()>;

/// One in-order queue. The World owns its queues; Stream (host/stream.hpp) is a handle to one. Thread-safe. This is the
/// contract of every platform's queues; create() makes one that runs kernels on the CPU.
///
/// There, work is run by one thread at a time: whoever synchronizes with the queue, or waits for an event behind the
/// work, takes it up at once; else the queue's own worker does within a millisecond. A failure does not stop the queue.
class StreamQueue : public std::enable_shared_from_this<StreamQueue> {
 public:
  static std::shared_ptr<StreamQueue> create(ExecLimits limits, FailureProbe probe);
  virtual ~StreamQueue() = default;

  /// Checks, then enqueues. Queues of GPUs run no host functions as kernels and have a launch of their own.
  virtual void launch(const GridSpec& spec, std::function<void()> body) = 0;
  /// launch() and synchronize() in one. A queue of the CPU that has nothing else to do runs it here and now: to enqueue
  /// it takes about as long as a small collective itself.
  virtual void run(const GridSpec& spec, const std::function<void()>& body) {
    launch(spec, body);
    synchronize();
  }
  virtual void call(std::function<void()> fn) = 0;
  virtual std::shared_ptr<EventState> record() = 0;
  virtual void wait(std::shared_ptr<EventState> event) = 0;
  virtual bool idle() const = 0;
  /// Whether what is enqueued now is kept for a graph, and not done.
  virtual bool is_captured() const noexcept { return false; }
  /// Returns when the work enqueued before the call is done; throws the first failure since the last synchronize, once.
  /// Throws Error(invalid_argument) in a kernel, and in a callback of this queue, where it would wait for itself;
  /// Error(not_supported) while it is captured, which goes on.
  virtual void synchronize() = 0;
  /// What the next synchronize will throw because of work that has ended, or null.
  virtual std::exception_ptr pending_failure() const = 0;
  /// The part of it that is this queue's alone, such as what a callback threw: comes before what ended the job.
  virtual std::exception_ptr kept_failure() const { return pending_failure(); }
  /// Waits for the work in progress (waits in kernels end by themselves) and drops what has not started; its events
  /// count as finished. Later calls throw Error(not_initialized). Called when the World goes, since handles may outlive
  /// it.
  virtual void close() noexcept = 0;
};

}  // namespace isotope::exec
