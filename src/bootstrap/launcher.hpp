// The bootstrap of a PE that `isotope run` started: over the control socket it inherited.
#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"
#include "runtime/knobs.hpp"

namespace isotope::bootstrap {

/// `fd` is knobs.control_fd. All Worlds of the process share the one socket, now and after one of them is gone; it is
/// never closed, since its end of file is how the launcher learns that the process is gone. Throws
/// Error(invalid_argument) when `fd` is no open socket.
std::unique_ptr<Bootstrap> from_control_fd(int rank, int size, int fd, const runtime::Knobs& knobs);

}  // namespace isotope::bootstrap
