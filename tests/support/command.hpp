// Runs bin/isotope, or another program, from a test: collects what it prints, bounds how long it takes, and finds what
// it leaves.
//
//   Command run({isotope_binary(), "run", "-n", "4", test_program("fault_pe"), "1", "abort", "barrier"});
//   ASSERT_TRUE(run.await_output("acting", 1));
//   EXPECT_EQ(run.wait(), 128 + SIGABRT) << run.err();
//   EXPECT_TRUE(no_process_left());
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace isotope::testing {

using std::chrono::nanoseconds;

std::uint64_t now_ns();
/// Makes orphans of what the test starts children of the test, so that they can be found.
void adopt_orphans();
/// Whether the test has no child left, running or dead, within `limit`. Reaps; call it when every child was waited for.
bool no_process_left(nanoseconds limit = std::chrono::seconds(5));
/// Every process below `pid`, now.
std::vector<int> descendants(int pid);

std::string isotope_binary();
std::string test_program(const std::string& name);

class Command {
 public:
  /// Starts it; `env` is added to the test's own environment.
  explicit Command(std::vector<std::string> argv, const std::vector<std::pair<std::string, std::string>>& env = {});
  ~Command();  // kills it if it still runs
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  int pid() const { return pid_; }
  /// Whether standard output holds `text` at least `times` times within `limit`.
  bool await_output(const std::string& text, int times, nanoseconds limit = std::chrono::seconds(20));
  /// Its exit status, or 128 + the signal that killed it; -1 when it still runs after `limit`.
  int wait(nanoseconds limit = std::chrono::seconds(20));
  /// When await_output succeeded last, and when wait saw the end.
  std::uint64_t output_ns() const { return output_ns_; }
  std::uint64_t ended_ns() const { return ended_ns_; }
  /// From its start to its end.
  nanoseconds took() const { return nanoseconds(ended_ns_ - started_ns_); }

  const std::string& out() const { return text_[0]; }
  const std::string& err() const { return text_[1]; }

 private:
  void read_for(nanoseconds limit);

  int pid_ = 0;
  bool ended_ = false;
  int status_ = -1;
  int pipes_[2] = {-1, -1};
  std::string text_[2];
  std::uint64_t started_ns_ = now_ns(), output_ns_ = 0, ended_ns_ = 0;
};

/// How often `part` occurs in `text`.
int count_of(const std::string& text, const std::string& part);
/// Whether `number` occurs in `text` with no digit beside it.
bool has_number(const std::string& text, std::uint64_t number);

}  // namespace isotope::testing
