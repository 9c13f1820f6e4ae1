// Signals for the launcher: caught as data in its poll loop, and sent to the process groups it started.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "os/fd.hpp"

namespace isotope::os {

/// "SIGKILL", or "signal 42" where there is no name.
std::string signal_name(int signal);

/// Sends to every member of the group; true when there was one. Never throws.
bool signal_group(pid_t group, int signal) noexcept;

/// Sends to a child of ours, and to the group that it leads or led.
void signal_child_and_group(pid_t child, int signal) noexcept;

/// While it lives, the given signals come out of fd() and do nothing else; before_mask() is for children. Destruction
/// puts the thread's mask back. An ignored signal (nohup) stays ignored.
class SignalTap {
 public:
  explicit SignalTap(const std::vector<int>& signals);
  ~SignalTap();
  SignalTap(const SignalTap&) = delete;
  SignalTap& operator=(const SignalTap&) = delete;

  int fd() const noexcept { return fd_.get(); }
  /// The signals that have come since the last call, in order. Never blocks.
  std::vector<int> take();
  const sigset_t& before_mask() const noexcept { return before_; }

 private:
  Fd fd_;
  sigset_t before_{};
};

/// While it lives, children stay waitable and a closed pipe is an error instead of the process's end, whatever the
/// program chose for SIGCHLD and SIGPIPE.
class LauncherSignals {
 public:
  LauncherSignals();
  ~LauncherSignals();
  LauncherSignals(const LauncherSignals&) = delete;
  LauncherSignals& operator=(const LauncherSignals&) = delete;
  /// In a child: what the program had chosen. Async-signal-safe.
  void restore() const noexcept;

 private:
  struct sigaction child_{};
  struct sigaction pipe_{};
};

}  // namespace isotope::os
