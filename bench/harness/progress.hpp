// One line on a terminal about what is being measured; it erases itself.
#pragma once

#include <chrono>
#include <string>

namespace isotope::bench {

class Progress {
 public:
  /// `at_once`: it will take long. Else nothing is shown before two seconds have passed.
  Progress(std::string what, bool at_once);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `total` steps more are known to come.
  void expect(int total) { total_ += total; }
  /// Says what the next step does.
  void step(const std::string& doing);

 private:
  std::string what_;
  bool at_once_, terminal_, shown_ = false;
  int done_ = 0, total_ = 0;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace isotope::bench
