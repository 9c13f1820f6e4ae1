#include "os/fd.hpp"

#include <unistd.h>

namespace isotope::os {

void Fd::reset() noexcept {
  // Not retried on EINTR: Linux has closed the descriptor by then.
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace isotope::os
