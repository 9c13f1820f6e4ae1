// Yields and sleeps of a wait.
#include "exec/backoff.hpp"

#include <algorithm>

#include "os/clock.hpp"
#include "os/thread.hpp"

namespace isotope::exec {

namespace {
std::atomic<bool> g_crowded{false};
}  // namespace

void set_crowded(bool crowded) noexcept { g_crowded.store(crowded, std::memory_order_relaxed); }
bool is_crowded() noexcept { return g_crowded.load(std::memory_order_relaxed); }

void Backoff::step_slow() noexcept {
  const std::uint64_t now = os::now_ns();
  if (since_ns_ == 0) since_ns_ = now;
  const std::uint64_t waited = now - since_ns_;
  if (waited < kYieldNs) {
    os::yield_cpu();
    return;
  }
  // A small part of the wait so far. Were it a large one, PEs that wait for each other in turn would each add so much
  // to the next one's wait that all of them kept on sleeping.
  os::sleep_ns(std::clamp(waited / 32, kShortestSleepNs, kLongestSleepNs));
}

bool Backoff::waited_longer_than(std::uint64_t ns) const noexcept {
  return since_ns_ != 0 && os::now_ns() - since_ns_ > ns;
}

}  // namespace isotope::exec
