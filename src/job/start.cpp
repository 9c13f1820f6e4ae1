#include "job/start.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "isotope/base/error.hpp"
#include "os/clock.hpp"
#include "os/pidfd.hpp"
#include "os/pipe.hpp"
#include "os/poll.hpp"
#include "os/process.hpp"
#include "os/socket.hpp"

namespace isotope::job {

namespace {

constexpr int kCannotExecute = 126;
constexpr int kExecWaitMs = 30'000;  // a program on a slow network drive; after that the job goes on and its end tells

std::string why_not_executed(const std::string& path, int err) {
  std::string why = std::strerror(err);
  if (err == ENOEXEC) why += ": it is neither a program for this machine nor a script that starts with #!";
  if (err == ENOENT) why += ": it is there, so its interpreter (the #! line, or the dynamic loader) is not";
  return fmt::format("program '{}' cannot be executed: {}", path, why);
}

}  // namespace

Processes::Processes(const JobOptions& options, const Program& program) : options_(options), program_(program) {
  os::fill_standard_descriptors();
  null_ = os::open_null();
  share_ = plan_gpu_share(options, program.threads);
  std::function<void()> afterwards;
  if (share_.how == GpuShare::How::own_mps) {
    mps_.emplace(options, dispositions_, limit_);
    afterwards = [folder = mps_->folder()] { clear_mps(folder); };
  }
  // First of all processes: it holds none of the descriptors that come later.
  guard_.emplace(afterwards);
}

Processes::~Processes() {
  for (const PeProcess& pe : pes_) os::signal_child_and_group(pe.pid, SIGKILL);
  if (mps_) mps_->stop();
  // The guard goes before the pids do: it must never kill a group whose number went to somebody else.
  guard_.reset();
  const os::Deadline deadline = os::Deadline::after_ns(1'000'000'000);
  for (const PeProcess& pe : pes_) {
    if (!pe.pidfd) continue;
    bool reaped = os::reap(pe.pidfd.get());
    while (!reaped && !deadline.passed()) {
      os::PollEntry ended{pe.pidfd.get(), os::kReadable};
      os::poll_fds({&ended, 1}, deadline.poll_timeout_ms());
      reaped = os::reap(pe.pidfd.get());
      if (!reaped && ended.ready) os::poll_fds({}, 1);  // dead, but held back by a debugger
    }
  }
}

void Processes::start() {
  // A signal that ends the launcher while it waits for the daemon just ends it, and the guard clears up; from the first
  // PE on signals are theirs.
  if (mps_) mps_->start(*guard_);
  if (options_.forward_signals) tap_.emplace(std::vector<int>{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2});
  const int count = program_.threads ? 1 : options_.pes;
  pes_.reserve(static_cast<std::size_t>(count));
  for (int rank = 0; rank < count; ++rank) start_one(rank);
}

void Processes::start_one(int rank) {
  std::pair<os::Fd, os::Fd> control;  // ours, the PE's
  if (!program_.threads) control = os::stream_pair();
  os::Pipe out = options_.tag_output ? os::make_pipe() : os::Pipe{};
  os::Pipe err = options_.tag_output ? os::make_pipe() : os::Pipe{};
  // The first one tells whether the program can be executed at all; the others would only repeat it.
  os::Pipe exec_report = program_.function == nullptr && rank == 0 ? os::make_pipe() : os::Pipe{};

  // All that a child with threads around it may not do: allocate.
  std::vector<std::string> argv = program_.argv, environment;
  std::vector<char*> argv_pointers, environment_pointers;
  if (program_.function == nullptr) {
    environment = changed_environment(os::environment(), environment_of(rank, control.second.get()));
    argv_pointers = pointers(argv);
    environment_pointers = pointers(environment);
  }

  const pid_t launcher = os::process_id();
  const pid_t pid = os::fork_process();
  if (pid == 0) {
    child(rank, launcher, std::move(control.second), std::move(out.write), std::move(err.write),
          std::move(exec_report.write), argv_pointers.data(), environment_pointers.data());
  }
  os::make_group_of(pid);
  PeProcess pe;
  pe.rank = rank;
  pe.pid = pid;
  pe.control = std::move(control.first);
  pe.out = std::move(out.read);
  pe.err = std::move(err.read);
  pes_.push_back(std::move(pe));  // from here on the destructor knows it
  pes_.back().pidfd = os::open_pidfd(pid);
  exec_report.write.reset();
  if (exec_report.read) await_exec(std::move(exec_report.read));
}

EnvironmentChange Processes::environment_of(int rank, int control_fd) const {
  if (program_.threads) return threads_environment(options_);
  EnvironmentChange change = pe_environment(options_, rank, control_fd);
  const Variables more = gpu_share_environment(options_, share_, rank, mps_ ? mps_->folder() : "");
  change.set.insert(change.set.end(), more.begin(), more.end());
  return change;
}

void Processes::await_exec(os::Fd report) {
  os::PollEntry watched{report.get(), os::kReadable};
  const os::Deadline deadline = os::Deadline::after_ns(std::uint64_t{kExecWaitMs} * 1'000'000);
  std::string bytes;
  while (!deadline.passed()) {
    os::poll_fds({&watched, 1}, deadline.poll_timeout_ms());
    if (!watched.ready) continue;
    if (os::read_some(report.get(), bytes, sizeof(int)) != os::ReadResult::data) return;  // closed by a successful exec
    if (bytes.size() < sizeof(int)) continue;
    int err = 0;
    std::memcpy(&err, bytes.data(), sizeof err);
    throw Error(Code::invalid_argument, why_not_executed(program_.path, err));
  }
}

void Processes::child(int rank, pid_t launcher, os::Fd control, os::Fd out, os::Fd err, os::Fd exec_report,
                      char* const* argv, char* const* envp) noexcept {
  if (!os::enter_own_group(launcher)) os::exit_now(kCannotExecute);
  guard_->announce(os::process_id());
  // PE 0 reads what the launcher was given. A terminal stays with the launcher: a process group in the background that
  // reads from it is stopped by the kernel.
  if (rank != 0 || os::is_terminal(0)) os::become_standard(null_.get(), 0);
  if (out) os::become_standard(out.get(), 1);
  if (err) os::become_standard(err.get(), 2);
  limit_.restore();
  dispositions_.restore();
  if (program_.function != nullptr) run_function(rank, control);

  if (control) os::keep_across_exec(control.get());
  if (tap_) os::set_signal_mask(tap_->before_mask());
  const int why = os::execute(program_.path.c_str(), argv, envp);
  if (exec_report) {
    os::write_some(exec_report.get(), std::string_view(reinterpret_cast<const char*>(&why), sizeof why));
  } else {
    std::fprintf(stderr, "isotope: PE %d: cannot execute %s: %s\n", rank, program_.path.c_str(), std::strerror(why));
  }
  os::exit_now(kCannotExecute);
}

void Processes::run_function(int rank, const os::Fd& control) {
  int status = 1;
  try {
    // What exec would have closed.
    pes_.clear();
    guard_->forget_in_child();
    if (mps_) mps_->forget_in_child();
    tap_.reset();
    null_.reset();
    apply(environment_of(rank, control.get()));
    status = (*program_.function)();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "PE %d: %s\n", rank, error.what());
  } catch (...) {
    std::fprintf(stderr, "PE %d: an exception that is no std::exception\n", rank);
  }
  os::flush_stdio();
  os::exit_now(status);
}

}  // namespace isotope::job
