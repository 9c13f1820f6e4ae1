#include "os/identity.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

namespace isotope::os {

int parent_pid() noexcept { return ::getppid(); }
std::uint32_t own_uid() noexcept { return ::geteuid(); }

std::string host_name() {
  char name[64] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

std::size_t open_file_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return static_cast<std::size_t>(limit.rlim_cur);
}

void block_all_signals() noexcept {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace isotope::os
