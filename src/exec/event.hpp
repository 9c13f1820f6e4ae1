// What an Event is: a mark in a queue, passed once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace isotope::exec {

class StreamQueue;

struct EventState {
  std::atomic<bool> finished{false};
  std::weak_ptr<StreamQueue> queue;  // where it was recorded
  std::uint64_t sequence = 0;        // its place there
};

/// Waits until the event is finished or `stop` is set. Runs the work before the event itself if nobody else does.
/// Throws Error(invalid_argument) from a kernel, and from a callback that the event comes after.
void wait_for_event(EventState& event, const std::atomic<bool>* stop = nullptr);

}  // namespace isotope::exec
