// Watches over the processes of one job until all of them have ended, and says how it went.
//
//   running -> ending (told, left to end by themselves) -> asked (SIGTERM) -> killed (SIGKILL) -> given up
//
// The first failure, a PE's notice, the timeout or a second Ctrl-C moves it on from running; each later step comes when
// the grace is over and somebody is still there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bootstrap/star_server.hpp"
#include "isotope/host/job.hpp"
#include "job/output.hpp"
#include "job/progress.hpp"
#include "job/start.hpp"
#include "job/verdict.hpp"
#include "os/clock.hpp"

namespace isotope::job {

class Supervisor {
 public:
  /// The processes have been started; they must outlive this object.
  Supervisor(const JobOptions& options, bool threads, Processes& processes);

  /// Returns when every PE has ended or was given up.
  JobResult run();

 private:
  enum class Phase { running, ending, asked, killed, given_up };
  /// Why the job stopped running. `code` stays open while it depends on how `rank` will end.
  struct Cause {
    int rank = -1;
    std::optional<int> code;
  };

  void turn();
  int next_wake_ms() const;
  void look_for_ends();
  void hear_server();
  void hear_signals();
  void judge();
  void follow_notice(const bootstrap::AbortNotice& notice);
  void on_timeout();
  void begin_ending(Cause cause, const std::string& message);
  void advance_phase();
  void signal_running(int signal);
  void kill_leftovers();
  void wait_for_readers();
  void say(const std::string& line);

  PeEnd end_of_pe(std::size_t index) const;
  std::vector<int> running_ranks() const;
  int joined() const;
  bool all_ended() const;
  std::string subject() const;
  JobResult result() const;

  struct State {
    std::optional<os::ProcessEnd> end;
    bool ready = false;  // its descriptor says that it ended
    bool abandoned = false;
    bool by_us = false;  // ended after we had signalled it
  };

  const JobOptions& options_;
  bool threads_;
  Processes& processes_;
  std::vector<State> states_;
  std::optional<bootstrap::StarServer> server_;
  std::optional<TaggedOutput> output_;
  Progress progress_;

  Phase phase_ = Phase::running;
  std::optional<os::Deadline> timeout_, phase_end_;
  std::optional<os::Deadline> blamed_end_;  // until then a PE that is said to be lost should be seen to end
  std::optional<Cause> cause_;
  std::string message_;
  bool timed_out_ = false;
  int terminations_ = 0;     // SIGINT and SIGTERM seen so far
  bool look_again_ = false;  // somebody is dead and not yet waitable
};

}  // namespace isotope::job
