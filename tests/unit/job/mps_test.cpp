// The MPS daemon of a job, with a stand-in for NVIDIA's: started before the PEs, stopped after them, however they end.
#include "job/mps.hpp"

#include <algorithm>
#include <csignal>

#include "job/gpu_here.hpp"
#include "support/fake_mps.hpp"
#include "unit/job/job_support.hpp"

namespace isotope::job::test {
namespace {

using isotope::testing::FakeMps;
using Lines = std::vector<std::string>;

JobOptions on_cuda(int pes) {
  JobOptions options = quick(pes);
  options.platform = "cuda";
  return options;
}

Lines shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

/// One daemon, asked to quit once, after everything else; no folder, no process.
void expect_gone(const FakeMps& mps) {
  EXPECT_EQ(mps.count("start"), 1);
  EXPECT_EQ(mps.count("quit"), 1);
  EXPECT_EQ(mps.calls().back(), "quit");
  EXPECT_EQ(mps.folders_left(), Lines{});
  EXPECT_TRUE(Orphanage::empty_within(2s)) << "a process was left";
}

/// The same after a launcher that had no time to ask: polled, since the guard does it.
void expect_cleared(const FakeMps& mps) {
  EXPECT_TRUE(Orphanage::empty_within(5s)) << "a process was left";
  EXPECT_EQ(mps.folders_left(), Lines{});
  EXPECT_EQ(mps.count("start"), 1);
}

bool wait_for_call(const FakeMps& mps, const std::string& call, long times) {
  const Stopwatch watch;
  while (mps.count(call) < times && watch.seconds() < 10) ::usleep(2000);  // polled
  return mps.count(call) >= times;
}

TEST(Mps, IsStartedOnceBeforeThePesAndStoppedAfterThem) {
  const Orphanage orphanage;
  FakeMps mps;
  const JobResult result = run_program(on_cuda(4), shell(mps.note("pe")));
  EXPECT_EQ(result.exit_code, 0) << result.message;
  Lines calls = mps.calls();
  // Asking may start before it is ready.
  calls.erase(std::remove(calls.begin(), calls.end(), "get_server_list"), calls.end());
  EXPECT_EQ(calls, (Lines{"start", "ready", "pe", "pe", "pe", "pe", "quit"}));
  expect_gone(mps);
}

TEST(Mps, ManyInARowLeaveNoChildAndNoDescriptor) {
  const auto descriptors = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
  const auto before = descriptors();
  FakeMps mps;
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(run_program(on_cuda(2), shell("exit 0")).exit_code, 0);
    ASSERT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child was left";
  }
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(mps.folders_left(), Lines{});
}

TEST(Mps, PesAndDaemonFindTheSamePrivateFolder) {
  const Orphanage orphanage;
  FakeMps mps;
  mps.set("CUDA_VISIBLE_DEVICES", "4,7");
  const std::string show =
      mps.note(
          "pe $ISOTOPE_RANK $ISOTOPE_PLATFORM $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE $CUDA_DEVICE_MAX_CONNECTIONS "
          "$CUDA_MODULE_LOADING $CUDA_VISIBLE_DEVICES pipe=$CUDA_MPS_PIPE_DIRECTORY log=$CUDA_MPS_LOG_DIRECTORY") +
      "; cat " + mps.folder() + "/daemon >> " + mps.folder() + "/calls";
  EXPECT_EQ(run_program(on_cuda(3), shell(show)).exit_code, 0);
  const Lines calls = mps.calls();
  const auto daemon =
      std::find_if(calls.begin(), calls.end(), [](const auto& one) { return one.find("modes=") != std::string::npos; });
  ASSERT_NE(daemon, calls.end());
  const std::string folders = daemon->substr(0, daemon->find(" visible="));
  EXPECT_EQ(folders.compare(0, 5 + mps.folder().size() + 17, "pipe=" + mps.folder() + "/tmp/isotope-mps-"), 0)
      << folders;
  // Indices would be counted twice.
  EXPECT_EQ(daemon->substr(folders.size()), " visible= modes=700 700 ");
  for (const std::string pe : {"0 cuda 50", "1 cuda 100", "2 cuda 50"}) {
    EXPECT_EQ(mps.count("pe " + pe + " 32 EAGER 4,7 " + folders), 1) << pe;
  }
  expect_gone(mps);
}

TEST(Mps, PesThatAreForkedFindItToo) {
  const Orphanage orphanage;
  FakeMps mps;
  const JobResult result = run_processes(on_cuda(2), [] {
    // The launcher's own descriptors are not for PEs.
    for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;  // that of the listing itself
      if (std::filesystem::read_symlink(one.path(), gone).string().find("pidfd") != std::string::npos) return 2;
    }
    const char* pipe = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
    return pipe != nullptr && ::access(pipe, R_OK | W_OK | X_OK) == 0 ? 0 : 1;
  });
  EXPECT_EQ(result.exit_code, 0) << result.message;
  expect_gone(mps);
}

TEST(Mps, GpusNamedByUuidAreNamedToTheDaemon) {
  const Orphanage orphanage;
  FakeMps mps;
  mps.set("CUDA_VISIBLE_DEVICES", "GPU-1a2b");
  EXPECT_EQ(run_program(on_cuda(2), shell("cat " + mps.folder() + "/daemon >> " + mps.folder() + "/calls")).exit_code,
            0);
  const Lines calls = mps.calls();
  EXPECT_TRUE(std::any_of(calls.begin(), calls.end(),
                          [](const auto& one) { return one.find(" visible=GPU-1a2b ") != std::string::npos; }));
}

TEST(Mps, TheUsersOwnVariablesStay) {
  const Orphanage orphanage;
  FakeMps mps;
  mps.set("CUDA_MODULE_LOADING", "LAZY");
  mps.set("CUDA_MPS_LOG_DIRECTORY", mps.folder());
  JobOptions options = on_cuda(2);
  options.env = {{"CUDA_DEVICE_MAX_CONNECTIONS", "8"}, {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "20"}};
  const std::string show = mps.note(
      "pe $CUDA_MODULE_LOADING $CUDA_DEVICE_MAX_CONNECTIONS "
      "$CUDA_MPS_ACTIVE_THREAD_PERCENTAGE $CUDA_MPS_LOG_DIRECTORY");
  EXPECT_EQ(run_program(options, shell(show)).exit_code, 0);
  EXPECT_EQ(mps.count("pe LAZY 8 20 " + mps.folder()), 2);
  expect_gone(mps);
}

TEST(Mps, IsStoppedAfterAFailure) {
  const Orphanage orphanage;
  for (const auto& [script, code] : std::vector<std::pair<std::string, int>>{
           {"[ $ISOTOPE_RANK = 1 ] && exit 7; sleep 1000", 7},
           {"[ $ISOTOPE_RANK = 1 ] && kill -SEGV $$; sleep 1000", 128 + SIGSEGV},
           {"[ $ISOTOPE_RANK = 1 ] && kill -KILL $$; sleep 1000", 128 + SIGKILL}}) {
    FakeMps mps;
    EXPECT_EQ(run_program(on_cuda(3), shell(script)).exit_code, code);
    expect_gone(mps);
  }
}

TEST(Mps, IsStoppedAfterTheTimeout) {
  const Orphanage orphanage;
  FakeMps mps;
  JobOptions options = on_cuda(2);
  options.timeout = 300ms;
  EXPECT_EQ(run_program(options, shell("sleep 1000")).exit_code, 124);
  expect_gone(mps);
}

TEST(Mps, IsStoppedWhenTheProgramCannotBeExecuted) {
  const Orphanage orphanage;
  FakeMps mps;
  const std::string program = mps.folder() + "/words";
  std::ofstream(program) << "just words";
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  EXPECT_THROW(run_program(on_cuda(2), {program}), Error);
  expect_gone(mps);
}

TEST(Mps, IsStoppedAfterASignalToTheLauncher) {
  const Orphanage orphanage;
  for (const int signal : {SIGINT, SIGTERM}) {
    FakeMps mps;
    const pid_t launcher = fork_launcher([&] {
      JobOptions options = on_cuda(2);
      options.forward_signals = true;
      return run_program(options, shell("trap - INT TERM; " + mps.note("pe") + "; exec sleep 1000")).exit_code;
    });
    EXPECT_TRUE(wait_for_call(mps, "pe", 2));
    ::kill(launcher, signal);
    int status = 0;
    EXPECT_EQ(::waitpid(launcher, &status, 0), launcher);
    EXPECT_EQ(WEXITSTATUS(status), 128 + signal);
    expect_gone(mps);
  }
}

TEST(Mps, AKilledLauncherLeavesNothing) {
  const Orphanage orphanage;
  for (const int signal : {SIGKILL, SIGTERM}) {  // it does not forward here: both end it at once
    FakeMps mps;
    const pid_t launcher =
        fork_launcher([&] { return run_program(on_cuda(2), shell(mps.note("pe") + "; sleep 1000")).exit_code; });
    EXPECT_TRUE(wait_for_call(mps, "pe", 2));
    ::kill(launcher, signal);
    expect_cleared(mps);
  }
}

TEST(Mps, ALauncherThatEndsWhileItWaitsForTheDaemonLeavesNothing) {
  const Orphanage orphanage;
  for (const int signal : {SIGKILL, SIGINT}) {
    FakeMps mps("hangs");
    const pid_t launcher = fork_launcher([&] {
      ::signal(SIGINT, SIG_DFL);
      JobOptions options = on_cuda(2);
      options.forward_signals = true;
      return run_program(options, shell(mps.note("pe"))).exit_code;
    });
    EXPECT_TRUE(wait_for_call(mps, "get_server_list", 1));
    const Stopwatch watch;
    ::kill(launcher, signal);
    expect_cleared(mps);
    EXPECT_LE(watch.seconds(), 8);
    EXPECT_EQ(mps.count("pe"), 0);
  }
}

std::string refusal(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_supported);
    return error.what();
  }
  return "not refused";
}

void expect_says(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(MpsRefusal, WithoutMpsNoPeIsStarted) {
  const Orphanage orphanage;
  FakeMps mps;
  mps.hide();
  const std::string message = refusal([&] { run_program(on_cuda(4), shell(mps.note("pe"))); });
  expect_says(message, "'nvidia-cuda-mps-control' not found on PATH");
  if (why_no_gpu_here().empty()) {
    expect_says(message, "4 PEs cannot share 1 GPU as processes");
    expect_says(message, "Install MPS");
  } else {
    expect_says(message, "4 PEs are to run on GPUs");
  }
  EXPECT_EQ(mps.calls(), Lines{});
  EXPECT_EQ(mps.folders_left(), Lines{});
  EXPECT_TRUE(Orphanage::empty_within(2s));
}

TEST(MpsRefusal, SaysWhatToDoAboutMps) {
  const std::string message = sharing_refused(4, 2, "0,1", "it is not there", "");
  expect_says(message, "4 PEs cannot share 2 GPUs as processes: NVIDIA MPS could not be started: it is not there");
  expect_says(message, "Install MPS");
  expect_says(message, "--allow-time-slicing");
}

TEST(MpsRefusal, WithoutAGpuMpsIsNotTheAdvice) {
  const std::string message = sharing_refused(2, 1, "0", "it is not there", "the driver is missing");
  expect_says(message,
              "2 PEs are to run on GPUs (platform cuda), and this machine has none to be seen: the driver is "
              "missing; CUDA_VISIBLE_DEVICES is '0'. ");
  expect_says(message, "--platform cpu");
  expect_says(message, "it is not there");
  EXPECT_EQ(message.find("Install MPS"), std::string::npos) << message;
  EXPECT_EQ(message.find("--allow-time-slicing"), std::string::npos) << message;
  EXPECT_EQ(sharing_refused(2, 1, "", "x", "y").find("CUDA_VISIBLE_DEVICES"), std::string::npos);
}

TEST(MpsRefusal, ADaemonThatEndsIsQuoted) {
  const Orphanage orphanage;
  FakeMps mps("fails");
  const Stopwatch watch;
  const std::string message = refusal([&] { run_program(on_cuda(2), shell(mps.note("pe"))); });
  EXPECT_LE(watch.seconds(), 8);
  expect_says(message, "exited with status 3 instead of serving; it said: no such device, says the fake");
  EXPECT_EQ(mps.count("pe"), 0);
  EXPECT_EQ(mps.folders_left(), Lines{});
  EXPECT_TRUE(Orphanage::empty_within(2s));
}

/// A daemon without a job around it, and with less patience.
std::string start_and_stop(MpsDaemon::Limits limits) {
  const os::LauncherSignals dispositions;
  const os::DescriptorLimit limit;
  MpsDaemon daemon(on_cuda(2), dispositions, limit, limits);
  const Guard guard;
  return refusal([&] { daemon.start(guard); });
}

TEST(MpsRefusal, ADaemonThatDoesNotAnswerIsGivenUpInTime) {
  const Orphanage orphanage;
  for (const std::string mode : {"deaf", "hangs"}) {
    FakeMps mps(mode);
    const Stopwatch watch;
    const std::string message = start_and_stop({2500ms, 200ms});
    EXPECT_GE(watch.seconds(), 2.5);
    EXPECT_LE(watch.seconds(), 8) << "the patience of a job, not that of this test";
    expect_says(message, "did not answer within 2.5 s");
    expect_says(message, mode == "deaf" ? "it said: Cannot find MPS control daemon process" : "it said nothing");
    EXPECT_EQ(mps.folders_left(), Lines{});
    EXPECT_TRUE(Orphanage::empty_within(2s)) << mode;
  }
}

TEST(Mps, ADaemonThatDoesNotQuitIsKilledWithItsServer) {
  const Orphanage orphanage;
  FakeMps mps("stubborn");
  const Stopwatch watch;
  EXPECT_EQ(start_and_stop({10s, 300ms}), "not refused");
  EXPECT_GE(watch.seconds(), 0.3);
  EXPECT_LE(watch.seconds(), 4.5) << "the patience of a job";
  expect_gone(mps);
}

TEST(Mps, OneThatRunsIsUsedAndNotStopped) {
  const Orphanage orphanage;
  FakeMps mps;
  mps.set("CUDA_MPS_PIPE_DIRECTORY", "/mine");
  const std::string show = mps.note(
      "pe $CUDA_MPS_PIPE_DIRECTORY $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE "
      "<$CUDA_MPS_LOG_DIRECTORY$CUDA_DEVICE_MAX_CONNECTIONS$CUDA_MODULE_LOADING>");
  EXPECT_EQ(run_program(on_cuda(2), shell(show)).exit_code, 0);
  EXPECT_EQ(mps.calls(), (Lines{"pe /mine 50 <>", "pe /mine 50 <>"}));
}

TEST(Mps, NoneIsStartedWhereNoneIsNeededOrWanted) {
  const Orphanage orphanage;
  FakeMps mps;
  const std::string show = mps.note("pe <$CUDA_MPS_PIPE_DIRECTORY$CUDA_MPS_ACTIVE_THREAD_PERCENTAGE>");
  JobOptions options = on_cuda(2);
  options.allow_time_slicing = true;
  EXPECT_EQ(run_program(options, shell(show)).exit_code, 0);
  EXPECT_EQ(run_program(on_cuda(1), shell(show)).exit_code, 0);
  EXPECT_EQ(run_program(quick(2), shell(show)).exit_code, 0);
  EXPECT_EQ(mps.calls(), Lines(5, "pe <>"));
}

}  // namespace
}  // namespace isotope::job::test
