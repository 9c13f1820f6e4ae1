#include "bench/harness/progress.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "bench/harness/system.hpp"

namespace isotope::bench {

Progress::Progress(std::string what, bool at_once)
    : what_(std::move(what)), at_once_(at_once), terminal_(is_terminal(2)) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void Progress::step(const std::string& doing) {
  ++done_;
  const bool soon = std::chrono::steady_clock::now() - since_ < std::chrono::seconds(2);
  if (!terminal_ || (soon && !at_once_)) return;
  fmt::print(stderr, "\r\033[K{}: step {} of {}: {}", what_, done_, total_, doing);
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace isotope::bench
