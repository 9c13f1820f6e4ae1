// Starting processes: finding a program, forking, and what a child does between fork and its own work.
//
// What is marked async-signal-safe may run in the child of a fork of a process with threads.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>

namespace isotope::os {

/// The file to execute for argv[0]: itself when it has a slash, else the first hit on PATH. Throws
/// Error(invalid_argument) that says what was looked for and what is wrong with it (not found, not executable, a
/// folder).
std::string find_program(const std::string& name);

/// Flushes stdio (or the child would print our pending output a second time) and forks. 0 in the child. Throws
/// Error(system).
pid_t fork_process();

/// The parent's half of enter_own_group; both do it, so that the group exists for whoever needs it first.
void make_group_of(pid_t child) noexcept;
/// In a child: leads a process group of its own, and dies (SIGKILL) with the thread that forked it. False when `parent`
/// was gone already. Async-signal-safe.
bool enter_own_group(pid_t parent) noexcept;

/// In a child: makes `fd` standard descriptor `target`, inherited across exec. Async-signal-safe.
bool become_standard(int fd, int target) noexcept;
/// In a child: this descriptor survives exec. Async-signal-safe.
bool keep_across_exec(int fd) noexcept;
void set_signal_mask(const sigset_t& mask) noexcept;

/// execve; returns errno when it failed. Async-signal-safe.
int execute(const char* path, char* const* argv, char* const* envp) noexcept;

/// In a helper process: no terminal, no signal but SIGKILL and SIGSTOP, no descriptor but `fd`, a name for the process
/// listing.
void become_background(int fd, const char* name) noexcept;

/// Waits up to a second for a child we no longer need, then kills it. Never throws.
void dismiss_child(pid_t child) noexcept;

/// This process's environment, "NAME=value" each, with a null at the end.
char** environment() noexcept;
void set_environment(const std::string& name, const std::string& value);
void unset_environment(const std::string& name);
/// Everything buffered in stdio goes out now.
void flush_stdio() noexcept;

/// While it lives, this process may open as many descriptors as the system lets it. restore() is for children.
class DescriptorLimit {
 public:
  DescriptorLimit() noexcept;
  ~DescriptorLimit() { restore(); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  void restore() const noexcept;  // async-signal-safe

 private:
  unsigned long soft_ = 0, hard_ = 0;
  bool raised_ = false;
};

}  // namespace isotope::os
