// Time: one monotonic clock for the whole library, and the deadline every blocking call carries.
#pragma once

#include <cstdint>

namespace isotope::os {

/// Nanoseconds of CLOCK_MONOTONIC: the same clock in every process of a host.
std::uint64_t now_ns() noexcept;

class Deadline {
 public:
  /// Ends `ns` nanoseconds from now.
  static Deadline after_ns(std::uint64_t ns) noexcept { return Deadline(now_ns(), ns); }
  bool passed() const noexcept { return now_ns() - start_ >= span_; }
  std::uint64_t elapsed_ns() const noexcept { return now_ns() - start_; }
  std::uint64_t span_ns() const noexcept { return span_; }
  /// For poll(2): milliseconds left, rounded up, at most `cap`.
  int poll_timeout_ms(int cap = 1 << 30) const noexcept {
    const std::uint64_t gone = elapsed_ns();
    if (gone >= span_) return 0;
    const std::uint64_t left = (span_ - gone + 999'999) / 1'000'000;
    return left < static_cast<std::uint64_t>(cap) ? static_cast<int>(left) : cap;
  }

 private:
  Deadline(std::uint64_t start, std::uint64_t span) : start_(start), span_(span) {}
  std::uint64_t start_;
  std::uint64_t span_;
};

}  // namespace isotope::os
