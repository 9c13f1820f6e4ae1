// The PE's way into a rendezvous: connect, prove, and become a channel.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bootstrap/channel.hpp"
#include "bootstrap/handshake.hpp"
#include "os/clock.hpp"

namespace isotope::bootstrap {

struct Door {
  std::string where;                        // for messages: "127.0.0.1:4000"
  std::function<os::Fd(int& err)> connect;  // starts to connect, without blocking
  /// Looks at the connected socket: false when it leads nowhere (try again); throws when it must not be used.
  std::function<bool(int fd)> check;
  const Key* key = nullptr;  // none: a unix socket, and check() asks the kernel
  /// True: the root may not be there yet, so a refused connection is tried again until the deadline.
  bool patient = true;
  int root_rank = Error::kNobody;  // whose absence a timeout means
  std::string when_nobody;         // what to say when nobody listens there
};

/// Throws Error: timeout at the deadline, bootstrap_failed when there is nobody and door.patient is false, refused.
std::shared_ptr<Channel> enter(const Door& door, int rank, int size, const JobId& job, const os::Deadline& deadline);

}  // namespace isotope::bootstrap
