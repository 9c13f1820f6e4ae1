// Process descriptors: how the launcher learns that a PE has ended, without signals and without a race on reused pids.
//
// A child is looked at without being reaped (end_of), so its pid, and the process group named after it, cannot go to a
// stranger while we may still have to signal it. reap() gives the pid back at the very end.
#pragma once

#include <sys/types.h>

#include <optional>

#include "os/fd.hpp"

namespace isotope::os {

/// A descriptor that polls readable once the process has ended; close-on-exec. Throws Error(system).
Fd open_pidfd(pid_t pid);

struct ProcessEnd {
  bool exited = false;  // else killed by `signal`
  int status = 0;
  int signal = 0;
};

/// How the child ended, or nothing while it runs. Leaves it a zombie. Throws Error(system) when it is no child of ours.
std::optional<ProcessEnd> end_of(int pidfd);

/// Reaps a child that has ended; true when that was done. Never blocks.
bool reap(int pidfd) noexcept;

}  // namespace isotope::os
