// A job that something bad happens to: starts PEs, lets the test strike one of them, and says what every PE saw, and
// when.
//
//   FaultJob job({5, PesAs::processes});
//   job.start([&](World& world, Seat& seat) {
//     seat.set_ready();
//     if (world.rank() == 2) sit();                       // until it is killed
//     world.barrier();
//   });
//   ASSERT_TRUE(job.all_ready());
//   const std::uint64_t struck = job.strike(2);
//   job.wait();
//   EXPECT_TRUE(job.threw(0, Code::peer_lost, 2));
//   EXPECT_TRUE(job.ended_between(0, struck, 0ms, 2s));
//
// PEs are processes that meet by a unique id (nobody watches them but each other), processes of a launcher, or threads.
// Nothing outlives a FaultJob: what does not end by itself fails the test and is killed.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "isotope/isotope.hpp"
#include "support/command.hpp"

namespace isotope::testing {

// Sanitized programs are slower: upper bounds stretch, lower bounds do not.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kSlow = 3;
#else
inline constexpr int kSlow = 1;
#endif  // __SANITIZE_ADDRESS__ || __SANITIZE_THREAD__

// The bounds that docs/faults.md promises.
inline constexpr nanoseconds kReleaseBound =
    std::chrono::seconds(2);                                       // a death, an abort or a departure ends every wait
inline constexpr nanoseconds kEndBound = std::chrono::seconds(5);  // a failed or exiting job has no process left

enum class PesAs { processes, launched, threads };

struct FaultShape {
  int pes = 2;
  PesAs as = PesAs::processes;
};

void PrintTo(const FaultShape& shape, std::ostream* out);
std::string fault_shape_name(const ::testing::TestParamInfo<FaultShape>& info);
std::vector<FaultShape> process_shapes();    // 2, 3, 5 and 8 PEs, as processes and under a launcher
std::vector<FaultShape> all_shapes();        // and as threads
std::vector<FaultShape> unwatched_shapes();  // as processes and as threads: where a launcher would add nothing

/// Waits for a signal that kills this process; ends it by itself after a minute.
[[noreturn]] void sit();

/// One PE's place in a FaultJob, in memory that the test and all PEs share.
struct Seat {
  std::atomic<int> pid{0};
  std::atomic<std::uint64_t> ready_ns{0};
  std::atomic<std::uint64_t> began_ns{0};  // just before init(), or what the body says
  std::atomic<std::uint64_t> ended_ns{0};  // when the body returned or its Error was caught
  std::atomic<std::uint32_t> struck{0};
  std::atomic<std::uint64_t> words[8] = {};  // whatever a test wants to pass

  bool threw = false;  // an isotope::Error; the rest says which
  Code code = Code::ok;
  int peer = Error::kNobody;
  int error_pe = Error::kNobody;
  int line = 0;
  char file[256] = {};
  char message[4096] = {};

  /// What is timed begins here.
  void begin() { began_ns = now_ns(); }
  /// This PE has come to where the test wants it.
  void set_ready();
  /// Blocks until the test calls FaultJob::strike for this PE with signal 0.
  void await_strike();
  void record(const Error& error);
  /// Calls `fn` and records the Error it throws; the World lives on.
  template <class F>
  void attempt(const F& fn) {
    try {
      fn();
    } catch (const Error& error) {
      record(error);
    }
    if (ended_ns == 0) ended_ns = now_ns();
  }
};

class FaultJob {
 public:
  using Body = std::function<void(World&, Seat&)>;

  // Exit statuses of PEs that are processes.
  static constexpr int kReturned = 0, kThrewError = 110, kThrewOther = 111, kTestFailed = 199;

  explicit FaultJob(FaultShape shape, InitOptions options = {});
  ~FaultJob();
  FaultJob(const FaultJob&) = delete;
  FaultJob& operator=(const FaultJob&) = delete;

  int pes() const { return shape_.pes; }
  Seat& seat(int rank) { return seats_[rank]; }
  const Seat& seat(int rank) const { return seats_[rank]; }
  /// Options of one PE alone; not for threads.
  void set_options(int rank, const InitOptions& options) { options_[static_cast<std::size_t>(rank)] = options; }
  /// This PE never comes; only for PesAs::processes.
  void leave_out(int rank) { present_[static_cast<std::size_t>(rank)] = false; }

  /// What each PE that is a process does before it ends.
  void set_last(std::function<void()> last) { last_ = std::move(last); }

  void start(Body body);
  /// Called by every PE that came: all of them have. Does not use the library. `place` is 0 to 7, each used once.
  void meet(int place);
  bool all_ready(nanoseconds limit = std::chrono::seconds(20));
  /// Sends `signal` to the PE, or with 0 releases its await_strike(). Returns the time just before.
  std::uint64_t strike(int rank, int signal = SIGKILL);
  /// Waits for the end of every PE. What is left after `limit` fails the test and is killed.
  void wait(nanoseconds limit = std::chrono::seconds(60));
  void run(Body body) {
    start(std::move(body));
    wait();
  }

  ::testing::AssertionResult threw(int rank, Code code, int peer);
  ::testing::AssertionResult returned(int rank);
  ::testing::AssertionResult ended_between(int rank, std::uint64_t since_ns, nanoseconds at_least, nanoseconds at_most);
  /// The same since began_ns.
  ::testing::AssertionResult took_between(int rank, nanoseconds at_least, nanoseconds at_most) {
    return ended_between(rank, seats_[rank].began_ns, at_least, at_most);
  }
  /// Whether no PE's Error came later than this after its began_ns.
  bool on_time(nanoseconds at_most) const;
  /// All PEs but `victim` threw `code` blaming it, by `at_most` after `since_ns`.
  void expect_others_threw(int victim, Code code, std::uint64_t since_ns, nanoseconds at_most);

  /// As waitpid gives it; for PesAs::processes.
  int wait_status(int rank) const { return statuses_[static_cast<std::size_t>(rank)]; }
  /// For PesAs::launched: what the launcher made of it.
  JobResult launcher_result() const;
  /// For PesAs::threads: what run_threads threw.
  std::exception_ptr thread_failure() const { return thread_failure_; }

 private:
  struct Shared;

  int run_body(int rank);
  World join(int rank);
  void start_processes();
  void start_launched();
  void start_threads();
  void wait_processes(std::uint64_t until);
  void wait_launched(std::uint64_t until);
  void wait_threads(std::uint64_t until);

  FaultShape shape_;
  std::vector<InitOptions> options_;
  std::vector<bool> present_;
  Body body_;
  std::function<void()> last_;
  Shared* shared_ = nullptr;
  Seat* seats_ = nullptr;
  std::vector<int> pids_;  // 0: not running
  std::vector<int> statuses_;
  int launcher_ = 0;
  std::thread thread_owner_;
  std::exception_ptr thread_failure_;
  bool running_ = false;
};

/// What `make` returns, made anew while it is not `on_time`, at most six times, the last ones seconds apart: a machine
/// that is shared may be slow for ten seconds and more. Code that is late is late every time. Only for bounds that
/// leave no room for such moments.
template <class Make, class OnTime>
auto until_on_time(const Make& make, const OnTime& on_time) {
  for (int attempt = 1;; ++attempt) {
    auto made = make();
    if (attempt == 6 || on_time(*made)) return made;
    std::this_thread::sleep_for(std::chrono::milliseconds(250) * (1 << attempt));
  }
}

}  // namespace isotope::testing
