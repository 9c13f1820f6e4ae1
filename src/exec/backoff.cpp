// Yields and sleeps of a wait.
#include "exec/backoff.hpp"

#include <algorithm>

#include "os/clock.hpp"
#include "os/thread.hpp"

namespace isotope::exec {

void Backoff::step_slow() noexcept {
  const std::uint64_t now = os::now_ns();
  if (since_ns_ == 0) {
    since_ns_ = now;
    sleep_ns_ = kFirstSleepNs;
  }
  if (now - since_ns_ < kYieldNs) {
    os::yield_cpu();
    return;
  }
  os::sleep_ns(sleep_ns_);
  sleep_ns_ = std::min(sleep_ns_ + sleep_ns_ / 4, kLongestSleepNs);
}

}  // namespace isotope::exec
