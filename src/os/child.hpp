// A child process that does one thing and tells its parent the result in bytes.
#pragma once

#include <functional>
#include <string>

namespace isotope::os {

struct ChildResult {
  std::string bytes;  // what it sent
  bool exited = false;
  int status = 0;  // of an exit, or the signal that ended it
};

/// Forks; the child calls `work` with a function that sends bytes, and never returns from it. `quiet`: what it prints
/// goes nowhere. Throws Error(system).
ChildResult run_child(bool quiet, const std::function<void(const std::function<void(const std::string&)>& send)>& work);

/// Calls `handler(signal, pc)` when this process accesses memory it must not, divides by zero or aborts, on a stack of
/// its own. The handler does not return.
void on_crash(void (*handler)(int signal, const void* pc));
/// From now on it is called with SIGALRM after that many seconds.
void crash_after(unsigned seconds) noexcept;

}  // namespace isotope::os
