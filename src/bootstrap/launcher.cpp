// See launcher.hpp.
#include "bootstrap/launcher.hpp"

#include <fmt/format.h>

#include <mutex>

#include "bootstrap/channel.hpp"
#include "bootstrap/star_client.hpp"
#include "os/socket.hpp"

namespace isotope::bootstrap {
namespace {

std::shared_ptr<Channel> shared_channel(int rank, int size, int fd) {
  // Leaked on purpose: it serves until the process ends, also for Worlds that static destructors hold.
  static auto* mutex = new std::mutex;
  static auto* channel = new std::shared_ptr<Channel>;
  const std::lock_guard lock(*mutex);
  if (*channel) {
    if ((*channel)->forked())
      throw Error(Code::forked, "this process is a fork of a PE that called init(); it is no PE itself", rank);
    if ((*channel)->fd() != fd || (*channel)->rank() != rank || (*channel)->size() != size)
      throw Error(
          Code::invalid_argument,
          fmt::format(
              "ISOTOPE_CONTROL_FD, ISOTOPE_RANK and ISOTOPE_SIZE changed after the first init(), to {}, {} and {}; "
              "the launcher sets them once",
              fd, rank, size),
          rank);
    return *channel;
  }
  if (!os::is_stream_socket(fd))
    throw Error(
        Code::invalid_argument,
        fmt::format(
            "ISOTOPE_CONTROL_FD is {}, which is no open socket in this process. A program that a PE starts is no PE "
            "itself: unset ISOTOPE_CONTROL_FD, ISOTOPE_RANK and ISOTOPE_SIZE there",
            fd),
        rank);
  os::set_close_on_exec(fd);
  Channel::Options options;
  options.rank = rank;
  options.size = size;
  options.when_closed = {Code::launcher_lost, Error::kNobody, Error::kNobody, 0, "the launcher of this job is gone"};
  options.close_is_notice = true;
  *channel = std::make_shared<Channel>(os::Fd(fd), Decoder(Caps::star_client(size)), std::move(options));
  return *channel;
}

}  // namespace

std::unique_ptr<Bootstrap> from_control_fd(int rank, int size, int fd, const runtime::Knobs& knobs) {
  const auto deadline = os::Deadline::after_ns(knobs.bootstrap_deadline_ns);
  return std::make_unique<StarClient>("launcher", shared_channel(rank, size, fd), deadline);
}

}  // namespace isotope::bootstrap
