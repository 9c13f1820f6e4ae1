#include "os/pidfd.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "os/error.hpp"

namespace isotope::os {

namespace {

// The C library names it only in recent versions.
constexpr auto kPidfd = static_cast<idtype_t>(3);

}  // namespace

Fd open_pidfd(pid_t pid) {
  // Called directly: the C library's header declares it without C linkage in some versions. The kernel sets
  // close-on-exec.
  const long fd = ::syscall(SYS_pidfd_open, pid, 0);
  if (fd < 0) throw_errno("pidfd_open");
  return Fd(static_cast<int>(fd));
}

std::optional<ProcessEnd> end_of(int pidfd) {
  siginfo_t info{};
  while (::waitid(kPidfd, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    if (errno != EINTR) throw_errno("waitid on a PE");
  }
  if (info.si_pid == 0) return std::nullopt;
  ProcessEnd end;
  end.exited = info.si_code == CLD_EXITED;
  (end.exited ? end.status : end.signal) = info.si_status;
  return end;
}

bool reap(int pidfd) noexcept {
  siginfo_t info{};
  while (::waitid(kPidfd, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG) != 0) {
    if (errno != EINTR) return false;
  }
  return info.si_pid != 0;
}

}  // namespace isotope::os
