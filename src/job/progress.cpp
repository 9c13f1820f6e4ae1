#include "job/progress.hpp"

#include <cstdio>

#include "os/clock.hpp"
#include "os/pipe.hpp"

namespace isotope::job {

namespace {

constexpr std::uint64_t kShowAfterNs = 500'000'000;

}  // namespace

Progress::Progress(bool enabled, int pes)
    : enabled_(enabled && os::is_terminal(2)), pes_(pes), since_ns_(os::now_ns()) {}

void Progress::update(int joined) {
  if (!enabled_ || joined == shown_) return;
  if (joined >= pes_) return stop();
  if (joined == 0 || os::now_ns() - since_ns_ < kShowAfterNs) return;
  std::fprintf(stderr, "\r\033[Kstarting %d PEs: %d joined", pes_, joined);
  std::fflush(stderr);
  shown_ = joined;
}

void Progress::stop() {
  if (shown_ >= 0) {
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
  }
  enabled_ = false;
  shown_ = -1;
}

}  // namespace isotope::job
