// What the 128 bytes of a UniqueId hold.
#pragma once

#include "bootstrap/handshake.hpp"
#include "isotope/host/unique_id.hpp"
#include "os/socket.hpp"

namespace isotope::bootstrap {

struct UniqueIdParts {
  os::SocketAddress address;
  JobId job{};
  Key key;
};

UniqueId pack(const UniqueIdParts& parts);
/// Throws Error(invalid_argument) for bytes that get_unique_id() did not make, or that were changed on the way.
UniqueIdParts unpack(const UniqueId& id);

}  // namespace isotope::bootstrap
