#include "os/wait.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "os/error.hpp"

namespace isotope::os {

std::vector<bool> wait_readable(const std::vector<int>& fds, int timeout_ms) {
  std::vector<pollfd> entries;
  entries.reserve(fds.size());
  for (const int fd : fds) entries.push_back({fd, POLLIN, 0});
  const int ready = ::poll(entries.data(), entries.size(), timeout_ms);
  if (ready < 0 && errno != EINTR) throw_errno("poll");
  std::vector<bool> readable(fds.size(), false);
  if (ready > 0) {
    for (std::size_t i = 0; i < entries.size(); ++i) readable[i] = entries[i].revents != 0;
  }
  return readable;
}

Wake::Wake() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!fd_) throw_errno("eventfd");
}

void Wake::wake() const noexcept {
  const std::uint64_t one = 1;
  // A full counter is readable already, so a failed write changes nothing.
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
}

void Wake::drain() const noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(fd_.get(), &count, sizeof count);
}

}  // namespace isotope::os
