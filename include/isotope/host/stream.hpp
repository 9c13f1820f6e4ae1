// Streams: in-order queues of kernels, event records, event waits and host callbacks of one PE.
//
//   Stream copy = world.create_stream();
//   world.launch<pack>({.grid = 8, .block = 128, .stream = copy}, ...);
//   Event packed = copy.record();
//   world.stream().wait(packed);              // later work of the default stream comes after `packed`
//   world.stream().call([] { puts("done"); });
//   copy.synchronize();                       // throws what went wrong
//
// Thread-safe: any thread may use a stream; work goes in the order of the calls. A stream is a handle: copies name the
// same queue. Work starts by itself, soon, or at once inside synchronize(), which runs it on the calling thread.
#pragma once

#include <functional>
#include <memory>

namespace isotope {

namespace exec {
class StreamQueue;
class EventState;
}  // namespace exec

class Event {
 public:
  Event() = default;
  /// Whether everything before the record has finished. An empty Event is always finished.
  bool finished() const;
  /// Blocks until then. Does not throw for failures of the work; Stream::synchronize does.
  void synchronize() const;

 private:
  friend class Stream;
  explicit Event(std::shared_ptr<exec::EventState> state) : state_(std::move(state)) {}
  std::shared_ptr<exec::EventState> state_;
};

class Stream {
 public:
  /// The default stream of whichever World it is used with.
  Stream() = default;

  /// An event that finishes when everything enqueued so far has.
  Event record() const;
  /// Later work on this stream starts after `event`.
  void wait(const Event& event) const;
  /// Runs `fn` in order, on some host thread. It may not call synchronize on this stream. Throws Error(not_supported)
  /// while a graph is captured from the stream.
  void call(std::function<void()> fn) const;
  /// Whether all work enqueued so far has finished.
  bool idle() const;
  /// Blocks until all work enqueued so far has finished, then throws the first failure since the last synchronize: an
  /// exception of a kernel or callback (Code::kernel_failed), a wait that gave up (Code::timeout), or the job's end.
  /// Throws Error(not_supported) while a graph is captured from the stream, and lets that go on.
  void synchronize() const;

  explicit operator bool() const { return queue_ != nullptr; }

 private:
  friend class World;
  explicit Stream(std::shared_ptr<exec::StreamQueue> queue) : queue_(std::move(queue)) {}
  std::shared_ptr<exec::StreamQueue> queue_;
};

}  // namespace isotope
