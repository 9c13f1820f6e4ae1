// What an Event is: a mark in a queue, passed once.
#pragma once

namespace isotope::exec {

class EventState {
 public:
  virtual ~EventState() = default;
  virtual bool finished() const = 0;
  /// Waits until it is finished. Throws Error(invalid_argument) where it would wait for itself: from a kernel, and from
  /// a callback that the event comes after.
  virtual void synchronize() = 0;
};

}  // namespace isotope::exec
