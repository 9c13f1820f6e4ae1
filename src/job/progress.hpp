// One line on a terminal while the PEs of a slow job come together; it erases itself.
#pragma once

#include <cstdint>

namespace isotope::job {

class Progress {
 public:
  Progress(bool enabled, int pes);
  ~Progress() { stop(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows the line once the start has taken a while. Only while some, but not all, PEs have joined: a program that
  /// never calls init() is not starting, it is running.
  void update(int joined);
  /// Erases the line and shows it no more.
  void stop();
  bool active() const { return enabled_; }

 private:
  bool enabled_;
  int pes_;
  int shown_ = -1;
  std::uint64_t since_ns_;
};

}  // namespace isotope::job
