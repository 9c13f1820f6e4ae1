#include "job/mps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "isotope/base/error.hpp"
#include "job/environment.hpp"
#include "job/gpu_here.hpp"
#include "job/gpu_share.hpp"
#include "job/verdict.hpp"
#include "os/pipe.hpp"
#include "os/poll.hpp"
#include "os/private_folder.hpp"
#include "os/process.hpp"

namespace isotope::job {

namespace {

constexpr const char* kControl = "nvidia-cuda-mps-control";
constexpr const char* kFamily = "nvidia-cuda-mps";  // the daemon, its server, and who talks to them
constexpr int kAskAgainMs = 50;
constexpr int kClearMs = 10;
constexpr auto kClearPatience = std::chrono::seconds(2);
constexpr int kCannotExecute = 126;
constexpr std::size_t kMostQuoted = 200;

os::Deadline after(std::chrono::nanoseconds span) {
  return os::Deadline::after_ns(static_cast<std::uint64_t>(span.count()));
}

/// The last line with something in it, to be quoted.
std::string last_words(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line.substr(0, kMostQuoted);
  }
  return last.empty() ? "it said nothing" : "it said: " + last;
}

std::string how_it_ended(const os::ProcessEnd& end) {
  return end.exited ? fmt::format("exited with status {}", end.status)
                    : fmt::format("was killed by {}", os::signal_name(end.signal));
}

/// Under MPS, indices of GPUs count among those that the daemon sees: one that saw only GPUs 2 and 3 would offer them
/// as 0 and 1 to PEs that ask for 2 and 3. UUIDs mean the same on both sides.
bool names_gpus_by_index(const std::string& visible) {
  return visible.empty() || std::isdigit(static_cast<unsigned char>(visible[0])) != 0;
}

}  // namespace

void clear_mps(const std::string& folder) noexcept {
  try {
    const std::string entry = fmt::format("{}={}", kMpsPipe, mps_pipe_folder(folder));
    const os::Deadline deadline = after(kClearPatience);
    for (;;) {
      // A process that is on its way out may still write a log while the folder is being removed.
      const bool found = os::kill_processes(kFamily, entry) > 0;
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
      if ((!found && !std::filesystem::exists(folder, ignored)) || deadline.passed()) return;
      os::poll_fds({}, kClearMs);
    }
  } catch (const std::exception&) {
    // No memory, no descriptors: nothing more can be done at the end of a job.
  }
}

MpsDaemon::MpsDaemon(const JobOptions& options, const os::LauncherSignals& dispositions,
                     const os::DescriptorLimit& limit, Limits limits)
    : dispositions_(dispositions),
      limit_(limit),
      limits_(limits),
      pes_(options.pes),
      gpus_(gpus_used(options)),
      folder_(os::private_folder_name("isotope-mps")),
      pipe_(mps_pipe_folder(folder_)),
      log_(seen_by_pes(options, kMpsLog)),
      visible_(seen_by_pes(options, kVisibleGpus)) {
  if (log_.empty()) log_ = mps_log_folder(folder_);
  EnvironmentChange change;
  change.set = {{kMpsPipe, pipe_}, {kMpsLog, log_}};
  if (names_gpus_by_index(visible_)) {
    change.unset.emplace_back(kVisibleGpus);
  } else {
    change.set.emplace_back(kVisibleGpus, visible_);
  }
  environment_ = changed_environment(os::environment(), change);
}

MpsDaemon::~MpsDaemon() {
  stop();
  if (!pidfd_) return;
  const os::Deadline deadline = after(kClearPatience);
  while (!os::reap(pidfd_.get()) && !deadline.passed()) os::poll_fds({}, 1);
}

void MpsDaemon::start(const Guard& guard) {
  try {
    program_ = os::find_program(kControl);
  } catch (const Error& error) {
    refuse(error.what());
  }
  running_ = true;
  try {
    os::make_private_folder(folder_);
    os::make_private_folder(pipe_);
    os::make_private_folder(mps_log_folder(folder_));
    const os::Fd null = os::open_null();
    const os::Fd out = os::open_private_output(folder_ + "/daemon.out");
    pid_ = spawn("-f", null.get(), out.get(), &guard);
    os::make_group_of(pid_);
    pidfd_ = os::open_pidfd(pid_);
    await_answer();
  } catch (const std::exception&) {
    stop();
    throw;
  }
}

void MpsDaemon::stop() noexcept {
  if (!running_) return;
  running_ = false;
  try {
    if (pidfd_ && !ended()) {
      const os::Deadline deadline = after(limits_.quit);
      ask("quit", deadline);
      while (!ended() && !deadline.passed()) {
        os::PollEntry watched{pidfd_.get(), os::kReadable};
        os::poll_fds({&watched, 1}, deadline.poll_timeout_ms());
      }
    }
  } catch (const std::exception&) {
    // It could not be asked. What follows needs no answer.
  }
  if (pid_ > 0) os::signal_child_and_group(pid_, SIGKILL);
  clear_mps(folder_);
}

void MpsDaemon::forget_in_child() noexcept { pidfd_.reset(); }

void MpsDaemon::await_answer() const {
  const os::Deadline deadline = after(limits_.answer);
  const std::string said_to = folder_ + "/client.out";
  std::string said;
  while (!deadline.passed()) {
    // The deadline cuts a question short before its words are out. They count when it had most of the time there was.
    const os::Deadline fair = after(limits_.answer / 2);
    const auto answer = ask("get_server_list", deadline);
    if (answer || said.empty() || fair.passed()) said = last_words(said_to);
    if (const auto end = os::end_of(pidfd_.get())) {
      refuse(fmt::format("{} {} instead of serving; {}", program_, how_it_ended(*end),
                         last_words(folder_ + "/daemon.out")));
    }
    if (answer && answer->exited && answer->status == 0) return;
    os::PollEntry watched{pidfd_.get(), os::kReadable};
    os::poll_fds({&watched, 1}, deadline.poll_timeout_ms(kAskAgainMs));
  }
  refuse(fmt::format("{} did not answer within {}; asked for its servers, {}", program_, name_duration(limits_.answer),
                     said));
}

/// Runs nvidia-cuda-mps-control with one command on its input, as a user would. Nothing when it was killed since the
/// deadline passed, or the daemon's end made an answer impossible.
std::optional<os::ProcessEnd> MpsDaemon::ask(const std::string& command, const os::Deadline& deadline) const {
  os::Pipe in = os::make_pipe();
  const os::Fd out = os::open_private_output(folder_ + "/client.out");
  os::write_some(in.write.get(), command + "\n");  // fits the pipe
  in.write.reset();
  // The guard is not told of it: it is reaped here, long before the guard goes.
  const pid_t client = spawn(nullptr, in.read.get(), out.get(), nullptr);
  os::make_group_of(client);
  const os::Fd pidfd = os::open_pidfd(client);
  std::optional<os::ProcessEnd> end;
  while (!(end = os::end_of(pidfd.get())) && !deadline.passed()) {
    os::PollEntry watched[2] = {{pidfd.get(), os::kReadable}, {pidfd_.get(), os::kReadable}};
    os::poll_fds(watched, deadline.poll_timeout_ms());
    if (watched[1].ready && !watched[0].ready) break;
  }
  os::signal_child_and_group(client, SIGKILL);
  const os::Deadline patience = after(kClearPatience);
  while (!os::reap(pidfd.get()) && !patience.passed()) os::poll_fds({}, 1);
  return end;
}

bool MpsDaemon::ended() const { return os::end_of(pidfd_.get()).has_value(); }

pid_t MpsDaemon::spawn(const char* option, int in, int out, const Guard* guard) const {
  // All that a child with threads around it may not do: allocate.
  std::vector<std::string> argv = {program_}, environment = environment_;
  if (option != nullptr) argv.emplace_back(option);
  const std::vector<char*> argv_pointers = pointers(argv), environment_pointers = pointers(environment);
  const pid_t launcher = os::process_id();
  const pid_t pid = os::fork_process();
  if (pid != 0) return pid;
  if (!os::enter_own_group(launcher)) os::exit_now(kCannotExecute);
  if (guard != nullptr) guard->announce(os::process_id());
  os::become_standard(in, 0);
  os::become_standard(out, 1);
  os::become_standard(out, 2);
  limit_.restore();
  dispositions_.restore();
  const int why = os::execute(program_.c_str(), argv_pointers.data(), environment_pointers.data());
  std::fprintf(stderr, "cannot execute %s: %s\n", program_.c_str(), std::strerror(why));
  os::exit_now(kCannotExecute);
}

void MpsDaemon::refuse(const std::string& why) const {
  // Asked only now: to look for the driver costs more than the daemon does.
  throw Error(Code::not_supported, sharing_refused(pes_, gpus_, visible_, why, why_no_gpu_here()));
}

std::string sharing_refused(int pes, int gpus, const std::string& visible, const std::string& why_no_mps,
                            const std::string& why_no_gpu) {
  if (!why_no_gpu.empty()) {
    return fmt::format(
        "{} PEs are to run on GPUs (platform cuda), and this machine has none to be seen: {}{}. Run the "
        "job where a GPU and its driver are, or with --platform cpu. NVIDIA MPS was not started: {}",
        pes, why_no_gpu, visible.empty() ? "" : fmt::format("; {} is '{}'", kVisibleGpus, visible), why_no_mps);
  }
  return fmt::format(
      "{} PEs cannot share {} as processes: NVIDIA MPS could not be started: {}. Install MPS ({} comes "
      "with the driver), run the PEs as threads, or accept --allow-time-slicing "
      "(JobOptions::allow_time_slicing): kernels of different processes then take turns",
      pes, gpus == 1 ? "1 GPU" : fmt::format("{} GPUs", gpus), why_no_mps, kControl);
}

}  // namespace isotope::job
