#include "os/pipe.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "os/error.hpp"

namespace isotope::os {

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_errno("pipe2");
  Pipe pipe{Fd(ends[0]), Fd(ends[1])};
  if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) throw_errno("fcntl");
  return pipe;
}

Pipe make_message_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throw_errno("socketpair");
  return {Fd(ends[0]), Fd(ends[1])};
}

ReadResult read_some(int fd, std::string& to, std::size_t most) {
  const std::size_t before = to.size();
  to.resize(before + most);
  ssize_t got;
  do {
    got = ::read(fd, to.data() + before, most);
  } while (got < 0 && errno == EINTR);
  const bool later = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  to.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
  if (got > 0) return ReadResult::data;
  return later ? ReadResult::nothing_now : ReadResult::end;
}

std::optional<std::size_t> write_some(int fd, std::string_view bytes) noexcept {
  // A pipe that polls writable takes PIPE_BUF bytes at once. The descriptor is not made non-blocking: it is shared with
  // the shell and whoever else holds it.
  const std::size_t most = std::min<std::size_t>(bytes.size(), PIPE_BUF);
  ssize_t put;
  do {
    put = ::write(fd, bytes.data(), most);
  } while (put < 0 && errno == EINTR);
  if (put >= 0) return static_cast<std::size_t>(put);
  if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
  return std::nullopt;
}

bool send_message(int fd, const void* message, std::size_t bytes) noexcept {
  ssize_t put;
  do {
    put = ::send(fd, message, bytes, MSG_NOSIGNAL);
  } while (put < 0 && errno == EINTR);
  return put == static_cast<ssize_t>(bytes);
}

bool receive_message(int fd, void* message, std::size_t bytes) noexcept {
  ssize_t got;
  do {
    got = ::recv(fd, message, bytes, MSG_TRUNC);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(bytes);
}

Fd open_null() {
  Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) throw_errno("opening /dev/null");
  return null;
}

bool is_terminal(int fd) noexcept { return ::isatty(fd) == 1; }

void fill_standard_descriptors() {
  for (;;) {
    const int fd = ::open("/dev/null", O_RDWR);
    if (fd < 0) throw_errno("opening /dev/null");
    if (fd > 2) {
      ::close(fd);
      return;
    }
  }
}

}  // namespace isotope::os
