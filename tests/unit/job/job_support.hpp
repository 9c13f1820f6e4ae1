// Shared by the tests of src/job: time bounds, a PE's end of the launcher's socket, and a check that nothing is left
// running.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "bootstrap/select.hpp"
#include "isotope/base/error.hpp"
#include "isotope/host/job.hpp"
#include "runtime/knobs.hpp"

namespace isotope::job::test {

using namespace std::chrono_literals;

inline JobOptions quick(int pes) {
  JobOptions options;
  options.pes = pes;
  options.terminate_grace = 200ms;
  options.quiet = true;
  return options;
}

inline int my_rank() { return std::atoi(std::getenv("ISOTOPE_RANK")); }

/// Joins the job as init() does. Destroy it after leave() to end in good order.
inline std::unique_ptr<bootstrap::Bootstrap> join() { return bootstrap::from_environment(runtime::read_knobs()); }

/// A PE that does nothing until it is ended from outside; bounded, should the launcher be broken.
inline int sit() {
  ::alarm(60);
  for (;;) ::pause();
}

/// Seconds in which what needs no waiting is over on a machine that is busy with other things too. PEs that are not
/// ended sit for a minute.
inline constexpr double kSoon = 10;

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// While it lives, orphans below this process become its children, so that "nothing is left" can be checked exactly.
class Orphanage {
 public:
  Orphanage() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~Orphanage() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
  /// Reaps until there is no child left; false when some are still running after `limit`.
  static bool empty_within(std::chrono::milliseconds limit) {
    const Stopwatch watch;
    for (;;) {
      const pid_t got = ::waitpid(-1, nullptr, WNOHANG);
      if (got < 0 && errno == ECHILD) return true;
      if (got > 0) continue;
      if (watch.seconds() * 1000 > static_cast<double>(limit.count())) return false;
      ::usleep(2000);  // the condition is polled, nothing depends on how long this takes
    }
  }
};

/// A process that runs `fn` as a launcher would; the test plays the user.
inline pid_t fork_launcher(const std::function<int()>& fn) {
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(60);
    ::_exit(fn());
  }
  return pid;
}

/// A pipe that PEs write to across exec; they know it by its number.
struct Channel {
  int read_end = -1, write_end = -1;
  Channel() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Channel() {
    ::close(read_end);
    close_write();
  }
  void close_write() {
    if (write_end >= 0) ::close(write_end);
    write_end = -1;
  }
  /// Reads until `lines` lines have come, the end, or ten seconds.
  std::string read_lines(int lines) const {
    std::string all;
    const Stopwatch watch;
    while (std::count(all.begin(), all.end(), '\n') < lines && watch.seconds() < 10) {
      pollfd one{read_end, POLLIN, 0};
      if (::poll(&one, 1, 100) <= 0) continue;
      char buffer[4096];
      const ssize_t got = ::read(read_end, buffer, sizeof buffer);
      if (got <= 0) break;
      all.append(buffer, static_cast<std::size_t>(got));
    }
    return all;
  }
  std::string to() const { return " >&" + std::to_string(write_end); }
};

}  // namespace isotope::job::test
