#include "job/supervisor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "os/poll.hpp"
#include "os/signals.hpp"

namespace isotope::job {

namespace {

constexpr auto kKillPatience = std::chrono::seconds(5);  // from SIGKILL to giving up on a process the kernel cannot end
constexpr auto kBlamePatience = std::chrono::seconds(1);
constexpr int kProgressMs = 100;
constexpr int kLookAgainMs = 10;
constexpr int kMaxServerRounds = 10'000;  // of one turn, so that chatty PEs cannot keep us from the rest

os::Deadline after(std::chrono::nanoseconds span) {
  return os::Deadline::after_ns(static_cast<std::uint64_t>(std::max<std::int64_t>(span.count(), 0)));
}

}  // namespace

Supervisor::Supervisor(const JobOptions& options, bool threads, Processes& processes)
    : options_(options),
      threads_(threads),
      processes_(processes),
      states_(processes.pes().size()),
      progress_(options.progress && !threads, options.pes) {
  if (!threads) {
    server_.emplace(options.pes);
    for (PeProcess& pe : processes.pes()) server_->attach(pe.rank, std::move(pe.control));
  }
  if (options.tag_output) {
    output_.emplace(options.color);
    for (PeProcess& pe : processes.pes()) output_->add(pe.rank, std::move(pe.out), std::move(pe.err));
  }
  if (options.timeout.count() > 0) timeout_ = after(options.timeout);
}

JobResult Supervisor::run() {
  while (!all_ended()) turn();
  progress_.stop();
  kill_leftovers();
  if (output_) {
    output_->finish();
    wait_for_readers();
  }
  return result();
}

void Supervisor::turn() {
  std::vector<os::PollEntry> watched;
  watched.push_back({server_ ? server_->poll_fd() : -1, os::kReadable});
  watched.push_back({processes_.signals() != nullptr ? processes_.signals()->fd() : -1, os::kReadable});
  const std::size_t first_pe = watched.size();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const State& state = states_[i];
    watched.push_back({state.end || state.ready ? -1 : processes_.pes()[i].pidfd.get(), os::kReadable});
  }
  if (output_) output_->watch(watched);

  os::poll_fds(watched, next_wake_ms());

  // What PEs wrote before they died counts: output and frames come first.
  if (output_ && output_->react(watched)) progress_.stop();
  if (watched[0].ready) hear_server();
  if (watched[1].ready) hear_signals();
  bool ended = look_again_;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (watched[first_pe + i].ready) states_[i].ready = ended = true;
  }
  // A PE that reports a lost peer is right, but the peer itself is the better witness: look at the processes first.
  const bool noticed = phase_ == Phase::running && server_ && server_->notice();
  if (ended || noticed) {
    look_for_ends();
    judge();
  }
  if (phase_ == Phase::running && timeout_ && timeout_->passed() && !all_ended()) on_timeout();
  advance_phase();
  if (progress_.active()) progress_.update(joined());
}

int Supervisor::next_wake_ms() const {
  int wake = -1;
  const auto at_most = [&](int ms) { wake = wake < 0 ? ms : std::min(wake, ms); };
  if (phase_ == Phase::running && timeout_) at_most(timeout_->poll_timeout_ms());
  if (phase_ == Phase::running && blamed_end_) at_most(blamed_end_->poll_timeout_ms());
  if (phase_end_) at_most(phase_end_->poll_timeout_ms());
  if (progress_.active()) at_most(kProgressMs);
  if (look_again_) at_most(kLookAgainMs);
  return wake;
}

void Supervisor::hear_server() {
  os::PollEntry more{server_->poll_fd(), os::kReadable};
  for (int round = 0; round < kMaxServerRounds; ++round) {
    os::poll_fds({&more, 1}, 0);
    if (!more.ready) break;
    server_->handle();
  }
}

void Supervisor::look_for_ends() {
  // Whoever ended because of another's end did so after it. Once a look finds nobody new, the first one is among those
  // found.
  for (bool found = true; found;) {
    found = false;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      State& state = states_[i];
      if (state.end) continue;
      state.end = os::end_of(processes_.pes()[i].pidfd.get());
      if (!state.end) continue;
      state.by_us = phase_ >= Phase::asked;
      found = true;
    }
  }
  look_again_ =
      std::any_of(states_.begin(), states_.end(), [](const State& s) { return s.ready && !s.end && !s.abandoned; });
}

void Supervisor::judge() {
  if (phase_ != Phase::running) return;
  if (server_) hear_server();  // last frames: did they leave, did one call global_exit?
  const auto notice = server_ ? server_->notice() : std::nullopt;
  // A PE that left in good order may be on its way to a status that is not 0, which the others' failures only follow
  // from.
  const bool blames_a_peer = notice && (notice->code == Code::peer_lost || notice->code == Code::peer_left);
  if (notice && !blames_a_peer) return follow_notice(*notice);

  int blamed = -1;
  if (notice && notice->peer >= 0 && notice->peer < static_cast<int>(states_.size())) {
    blamed = notice->peer;
    const auto index = static_cast<std::size_t>(blamed);
    if (!states_[index].end) {
      // Its socket closes a moment before the process can be waited for, and only the process knows how it ended.
      if (!blamed_end_) blamed_end_ = after(kBlamePatience);
      if (!blamed_end_->passed()) return;
    } else if (!is_failure(end_of_pe(index))) {
      return follow_notice(*notice);
    }
  }
  std::vector<PeEnd> failures;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].end && is_failure(end_of_pe(i))) failures.push_back(end_of_pe(i));
  }
  if (failures.empty()) {
    if (notice) follow_notice(*notice);
    return;
  }
  const PeEnd first = first_of(failures, blamed);
  begin_ending({first.rank, exit_code_of(first)}, describe(first, subject()));
}

void Supervisor::follow_notice(const bootstrap::AbortNotice& notice) {
  if (notice.code == Code::exited) {
    const bool good = notice.exit_code == 0;
    return begin_ending({good ? -1 : notice.by, notice.exit_code}, good ? std::string() : describe(notice));
  }
  begin_ending({notice.by >= 0 ? notice.by : notice.peer, std::nullopt}, describe(notice));
}

void Supervisor::on_timeout() {
  timed_out_ = true;
  begin_ending({-1, kTimeoutCode},
               fmt::format("the job's timeout of {} is over; still running: {}", name_duration(options_.timeout),
                           threads_ ? subject() : name_pes(running_ranks())));
  // A PE that has joined unwinds with an error that says what it was doing. The others cannot hear us.
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const PeProcess& pe = processes_.pes()[i];
    if (!states_[i].end && !(server_ && server_->status(pe.rank).joined)) os::signal_child_and_group(pe.pid, SIGTERM);
  }
}

void Supervisor::begin_ending(Cause cause, const std::string& message) {
  if (phase_ != Phase::running) return;
  phase_ = Phase::ending;
  phase_end_ = after(options_.terminate_grace);
  cause_ = cause;
  message_ = message;
  if (server_) {
    bootstrap::AbortNotice notice;
    notice.code = timed_out_ ? Code::timeout : cause.rank >= 0 ? Code::peer_lost : Code::aborted;
    notice.peer = cause.rank;
    notice.message = message;
    server_->end_job(notice);  // does nothing but pass on the PE's own notice, where there is one
  }
  if (!message.empty()) say(message);
}

void Supervisor::advance_phase() {
  if (!phase_end_ || !phase_end_->passed() || all_ended()) return;
  switch (phase_) {
    case Phase::ending:
      phase_ = Phase::asked;
      signal_running(SIGTERM);
      signal_running(SIGCONT);  // a stopped process hears SIGTERM only then
      phase_end_ = after(options_.terminate_grace);
      break;
    case Phase::asked:
      phase_ = Phase::killed;
      signal_running(SIGKILL);
      phase_end_ = after(kKillPatience);
      break;
    case Phase::killed: {
      phase_ = Phase::given_up;
      std::string who;
      for (std::size_t i = 0; i < states_.size(); ++i) {
        if (states_[i].end) continue;
        states_[i].abandoned = true;
        PeProcess& pe = processes_.pes()[i];
        pe.pidfd.reset();  // nobody waits for it from here on
        who += fmt::format("{}{} (pid {})", who.empty() ? "" : ", ",
                           threads_ ? subject() : fmt::format("PE {}", pe.rank), pe.pid);
      }
      const std::string line =
          fmt::format("gave up on {}: still there {} after SIGKILL", who, name_duration(kKillPatience));
      message_ += (message_.empty() ? "" : "; ") + line;
      say(line);
      break;
    }
    case Phase::running:
    case Phase::given_up:
      break;
  }
}

void Supervisor::hear_signals() {
  for (const int signal : processes_.signals()->take()) {
    const bool ends = signal == SIGINT || signal == SIGTERM;
    if (ends && ++terminations_ > 1) {
      const std::string name = os::signal_name(signal);
      begin_ending({-1, kSignalBase + signal},
                   fmt::format("killing the job: {} came after an earlier SIGINT or SIGTERM", name));
      if (phase_ < Phase::killed) {
        phase_ = Phase::killed;
        signal_running(SIGKILL);
        phase_end_ = after(kKillPatience);
      }
    } else {
      signal_running(signal);
    }
  }
}

void Supervisor::signal_running(int signal) {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!states_[i].end) os::signal_child_and_group(processes_.pes()[i].pid, signal);
  }
}

void Supervisor::kill_leftovers() {
  // The PEs are not reaped yet, so their group numbers are still theirs.
  for (const PeProcess& pe : processes_.pes()) os::signal_group(pe.pid, SIGKILL);
}

void Supervisor::wait_for_readers() {
  // All PEs are gone. What they said belongs to whoever reads our output, however slowly; a signal ends that.
  while (output_->pending()) {
    std::vector<os::PollEntry> watched;
    watched.push_back({processes_.signals() != nullptr ? processes_.signals()->fd() : -1, os::kReadable});
    output_->watch(watched);
    os::poll_fds(watched, timed_out_ ? static_cast<int>(kKillPatience.count() * 1000) : -1);
    const bool idle = std::none_of(watched.begin(), watched.end(), [](const os::PollEntry& one) { return one.ready; });
    output_->react(watched);
    if (watched[0].ready) {
      for (const int signal : processes_.signals()->take()) {
        if (signal == SIGINT || signal == SIGTERM) return output_->drop();
      }
    } else if (idle && timed_out_) {
      return output_->drop();
    }
  }
}

void Supervisor::say(const std::string& line) {
  if (options_.quiet) return;
  progress_.stop();
  const std::string full = "isotope: " + line;
  if (output_) {
    output_->say(full);
  } else {
    std::fprintf(stderr, "%s\n", full.c_str());
  }
}

PeEnd Supervisor::end_of_pe(std::size_t index) const {
  const PeProcess& pe = processes_.pes()[index];
  return {pe.rank, pe.pid, *states_[index].end, server_ ? server_->status(pe.rank).open_worlds : 0};
}

std::vector<int> Supervisor::running_ranks() const {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!states_[i].end) ranks.push_back(processes_.pes()[i].rank);
  }
  return ranks;
}

int Supervisor::joined() const {
  int count = 0;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    count += states_[i].end || server_->status(processes_.pes()[i].rank).joined;
  }
  return count;
}

bool Supervisor::all_ended() const {
  return std::all_of(states_.begin(), states_.end(), [](const State& state) { return state.end || state.abandoned; });
}

std::string Supervisor::subject() const {
  return threads_ ? fmt::format("the process of all {} PEs", options_.pes) : std::string();
}

JobResult Supervisor::result() const {
  JobResult result;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const State& state = states_[i];
    const os::ProcessEnd end = state.end.value_or(os::ProcessEnd{});
    result.pes.push_back({processes_.pes()[i].pid, end.exited, end.status, end.signal, state.abandoned});
  }
  result.timed_out = timed_out_;
  result.message = message_;
  if (!cause_) return result;
  result.first_failed = cause_->rank;
  result.exit_code = cause_->code.value_or(1);
  if (!cause_->code && cause_->rank >= 0) {
    // The PE that ended the job by a notice: its own status, where it came to one.
    const auto index = static_cast<std::size_t>(cause_->rank);
    if (states_[index].end && !states_[index].by_us && exit_code_of(end_of_pe(index)) != 0) {
      result.exit_code = exit_code_of(end_of_pe(index));
    }
  }
  const bool abandoned =
      std::any_of(states_.begin(), states_.end(), [](const State& state) { return state.abandoned; });
  if (abandoned && result.exit_code == 0) result.exit_code = 1;
  return result;
}

}  // namespace isotope::job
