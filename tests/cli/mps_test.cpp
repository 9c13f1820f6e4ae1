// `isotope run` and MPS, with a stand-in for NVIDIA's daemon.
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <csignal>
#include <filesystem>

#include "cli/run_binary.hpp"
#include "support/fake_mps.hpp"

namespace isotope::cli::test {
namespace {

using isotope::testing::FakeMps;
using Lines = std::vector<std::string>;

class Mps : public ::testing::Test {
 protected:
  void SetUp() override {
    if (isotope({"run", "--platform", "cuda", "true"}).err.find("no platform 'cuda'") != std::string::npos) {
      GTEST_SKIP() << "this build has no platform cuda";
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans become ours, so that "nothing is left" can be checked exactly
  }
  void TearDown() override { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

  static bool nothing_left() {
    const auto start = std::chrono::steady_clock::now();
    pid_t got;
    while ((got = ::waitpid(-1, nullptr, WNOHANG)) >= 0 &&
           std::chrono::steady_clock::now() - start < std::chrono::seconds(5)) {
      if (got == 0) ::usleep(1000);  // polled
    }
    return got < 0;
  }
  static std::vector<std::string> on_cuda(std::vector<std::string> options, const std::string& script) {
    options.insert(options.begin(), {"run", "--platform", "cuda"});
    options.insert(options.end(), {"/bin/sh", "-c", script});
    return options;
  }
};

TEST_F(Mps, SharesTheGpuAndGoesWithTheJob) {
  for (const auto& [script, code] : std::vector<std::pair<std::string, int>>{
           {"echo $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", 0}, {"echo $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE; exit 5", 5}}) {
    FakeMps mps;
    const Outcome outcome = isotope(on_cuda({"-n", "4"}, script));
    EXPECT_EQ(outcome.code, code) << outcome.err;
    if (code == 0) {
      EXPECT_EQ(outcome.out, "25\n25\n25\n25\n");
      EXPECT_EQ(outcome.err, "");
    }
    EXPECT_EQ(mps.count("start"), 1);
    EXPECT_EQ(mps.count("quit"), 1);
    EXPECT_EQ(mps.folders_left(), Lines{});
    EXPECT_TRUE(nothing_left());
  }
}

TEST_F(Mps, IsStoppedAfterTheTimeoutAndAfterSignals) {
  for (const int signal : {0, SIGINT, SIGTERM, SIGKILL}) {
    FakeMps mps;
    Binary binary(
        on_cuda({"-n", "2", "--timeout", signal == 0 ? "500ms" : "1min"}, "trap - INT; echo up; exec sleep 1000"));
    binary.await_lines(2);
    if (signal != 0) ::kill(binary.pid(), signal);
    const Outcome outcome = binary.wait();
    EXPECT_EQ(outcome.code, signal == 0 ? 124 : (signal == SIGKILL ? 1000 : 128) + signal) << outcome.err;
    EXPECT_TRUE(nothing_left());
    EXPECT_EQ(mps.count("start"), 1);
    EXPECT_EQ(mps.count("quit"), signal == SIGKILL ? 0 : 1);
    EXPECT_EQ(mps.folders_left(), Lines{});
  }
}

TEST_F(Mps, WithoutItTheJobIsRefusedUnlessTimeSlicingIsAllowed) {
  FakeMps mps;
  mps.hide();
  const Outcome refused = isotope(on_cuda({"-n", "2"}, "echo ran"));
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("'nvidia-cuda-mps-control' not found on PATH"), std::string::npos) << refused.err;
  // What the user is told to do about it depends on whether there is a GPU at all.
  const bool gpu = std::filesystem::exists("/dev/nvidia0");
  EXPECT_NE(refused.err.find(gpu ? "--allow-time-slicing" : "--platform cpu"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.err.find("Install MPS") != std::string::npos, gpu) << refused.err;
  EXPECT_EQ(isotope(on_cuda({"-n", "2", "--allow-time-slicing"}, "echo ran")).out, "ran\nran\n");
}

TEST_F(Mps, HiddenGpusAreNotShared) {
  for (const char* hides_all : {"-1", ""}) {
    FakeMps mps;
    mps.set("CUDA_VISIBLE_DEVICES", hides_all);
    const Outcome outcome = isotope(on_cuda({"-n", "2"}, "echo ran"));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "ran\nran\n");
    EXPECT_EQ(mps.count("start"), 0) << "'" << hides_all << "'";
  }
}

TEST(TimeSlicing, IsAnOptionThatOtherPlatformsPassOver) {
  EXPECT_EQ(isotope({"run", "-n", "2", "--platform", "cpu", "--allow-time-slicing", "echo", "ran"}).out, "ran\nran\n");
  EXPECT_NE(isotope({"run", "--help"}).out.find("--allow-time-slicing"), std::string::npos);
}

}  // namespace
}  // namespace isotope::cli::test
