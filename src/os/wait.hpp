// Waiting for descriptors to become readable, and waking a thread that does.
#pragma once

#include <vector>

#include "os/fd.hpp"

namespace isotope::os {

/// Blocks until one of `fds` is readable, closed or broken, at most `timeout_ms` (-1: for ever). Entry i tells of
/// fds[i]. Negative descriptors are passed over.
std::vector<bool> wait_readable(const std::vector<int>& fds, int timeout_ms);

/// A descriptor that another thread makes readable.
class Wake {
 public:
  Wake();
  int fd() const noexcept { return fd_.get(); }
  void wake() const noexcept;
  /// Makes it unreadable again.
  void drain() const noexcept;

 private:
  Fd fd_;
};

}  // namespace isotope::os
