#include "os/spawn.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "os/error.hpp"

namespace isotope::os {

namespace {

enum class Runnable { yes, missing, folder, not_executable };

Runnable runnable(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return Runnable::missing;
  if (S_ISDIR(facts.st_mode)) return Runnable::folder;
  return ::access(path.c_str(), X_OK) == 0 ? Runnable::yes : Runnable::not_executable;
}

[[noreturn]] void refuse(const std::string& what) { throw Error(Code::invalid_argument, what); }

}  // namespace

std::string find_program(const std::string& name) {
  if (name.empty()) refuse("the program's name is empty: name a file, or a program on PATH");
  if (name.find('/') != std::string::npos) {
    switch (runnable(name)) {
      case Runnable::yes:
        return name;
      case Runnable::missing:
        refuse("program '" + name + "' not found: there is no such file");
      case Runnable::folder:
        refuse("program '" + name + "' is a folder, not a program");
      case Runnable::not_executable:
        refuse("program '" + name + "' is not executable: chmod +x it, or run it with its interpreter");
    }
  }
  const char* path = std::getenv("PATH");
  const std::string folders = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  std::string blocked;  // a hit that may not be executed, for the message
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    const std::string folder = folders.substr(at, end - at);
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    const Runnable how = runnable(candidate);
    if (how == Runnable::yes) return candidate;
    if (how == Runnable::not_executable && blocked.empty()) blocked = candidate;
    at = end + 1;
  }
  if (!blocked.empty()) refuse("program '" + name + "' is not executable: found as " + blocked + " on PATH");
  std::string message = "program '" + name + "' not found on PATH";
  if (runnable("./" + name) == Runnable::yes) message += "; there is one in this folder: write ./" + name;
  refuse(message);
}

pid_t fork_process() {
  flush_stdio();
  const pid_t pid = ::fork();
  if (pid < 0) throw_errno("fork");
  return pid;
}

void make_group_of(pid_t child) noexcept { ::setpgid(child, child); }

bool enter_own_group(pid_t parent) noexcept {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above: then no signal comes.
  return ::getppid() == parent;
}

bool become_standard(int fd, int target) noexcept {
  if (fd == target) return keep_across_exec(fd);
  int got;
  do {
    got = ::dup2(fd, target);
  } while (got < 0 && errno == EINTR);
  return got == target;
}

bool keep_across_exec(int fd) noexcept {
  const int flags = ::fcntl(fd, F_GETFD);
  return flags >= 0 && ::fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC) == 0;
}

void set_signal_mask(const sigset_t& mask) noexcept { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }

int execute(const char* path, char* const* argv, char* const* envp) noexcept {
  ::execve(path, argv, envp);
  return errno;
}

void become_background(int fd, const char* name) noexcept {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::setsid();
  ::prctl(PR_SET_NAME, name);
  const auto keep = static_cast<unsigned>(fd);
  const bool below = keep == 0 || ::syscall(SYS_close_range, 0U, keep - 1, 0) == 0;
  const bool above = ::syscall(SYS_close_range, keep + 1, ~0U, 0) == 0;
  if (below && above) return;
  for (int other = 0; other < static_cast<int>(::sysconf(_SC_OPEN_MAX)); ++other) {
    if (other != fd) ::close(other);
  }
}

void dismiss_child(pid_t child) noexcept {
  const timespec pause{0, 1'000'000};
  for (int i = 0; i < 1000; ++i) {
    const pid_t got = ::waitpid(child, nullptr, WNOHANG);
    if (got == child || (got < 0 && errno != EINTR)) return;
    ::nanosleep(&pause, nullptr);
  }
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

char** environment() noexcept { return environ; }

void set_environment(const std::string& name, const std::string& value) {
  if (::setenv(name.c_str(), value.c_str(), 1) != 0) throw_errno("setenv " + name);
}

void unset_environment(const std::string& name) { ::unsetenv(name.c_str()); }

void flush_stdio() noexcept { std::fflush(nullptr); }

DescriptorLimit::DescriptorLimit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  soft_ = limit.rlim_cur;
  hard_ = limit.rlim_max;
  limit.rlim_cur = limit.rlim_max;
  raised_ = ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

void DescriptorLimit::restore() const noexcept {
  if (!raised_) return;
  const rlimit limit{soft_, hard_};
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace isotope::os
