// A tiny process per job that outlives a killed launcher just long enough to kill what the job started.
//
// The kernel kills a PE when its launcher dies, but not what the PE started: with `isotope run sh -c 'work; ...'` the
// shell dies and `work` stays. Each PE leads a process group and announces it here before it does anything else. When
// the launcher is gone (all copies of its end are closed) without having said goodbye, the guard kills those groups,
// does what else it was told to clear up, and ends.
#pragma once

#include <sys/types.h>

#include <functional>

#include "os/fd.hpp"

namespace isotope::job {

class Guard {
 public:
  /// Forks the guard. Call it before any PE is started. `afterwards` runs in the guard, once the groups of a launcher
  /// that was killed are dead; it must be bounded and not throw.
  explicit Guard(const std::function<void()>& afterwards = {});
  /// Goodbye: the guard ends without killing anyone, and is reaped.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// In a child between fork and exec: tells the guard of this group. Async-signal-safe.
  void announce(pid_t group) const noexcept;
  /// In a PE that does not exec: lets go of the guard, so that its copy does not look like a living launcher.
  void forget_in_child() noexcept;

 private:
  os::Fd launcher_end_;
  pid_t pid_ = -1;
};

}  // namespace isotope::job
