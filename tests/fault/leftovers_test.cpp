// Nothing stays behind: not when a whole job is killed, not when its launcher is. Rows 28 and 38 of the matrix.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "support/fault_job.hpp"

namespace isotope {
namespace {

using namespace std::chrono_literals;
using testing::Command;
using testing::descendants;
using testing::isotope_binary;
using testing::kEndBound;
using testing::kSlow;
using testing::no_process_left;
using testing::test_program;

std::set<std::string> listing(const std::filesystem::path& folder, const std::string& with = "") {
  std::set<std::string> names;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(folder, gone)) {
    const std::string name = entry.path().filename().string();
    // Open MPI's, where somebody runs it beside the tests.
    if (name.rfind("vader_segment.", 0) == 0) continue;
    if (name.find(with) != std::string::npos) names.insert(name);
  }
  return names;
}

std::set<std::string> added(const std::set<std::string>& before, const std::set<std::string>& after) {
  std::set<std::string> more;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::inserter(more, more.end()));
  return more;
}

/// A temporary folder that the job is told to use, so that what it leaves there is its own.
class Leftovers : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "fault-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    shm_ = listing("/dev/shm");
    temporary_ = listing(std::filesystem::temp_directory_path(), "isotope");
  }
  void TearDown() override {
    EXPECT_EQ(listing(folder_), std::set<std::string>()) << "files in the job's temporary folder";
    EXPECT_EQ(added(shm_, listing("/dev/shm")), std::set<std::string>()) << "files in /dev/shm";
    EXPECT_EQ(added(temporary_, listing(std::filesystem::temp_directory_path(), "isotope")), std::set<std::string>());
    std::filesystem::remove_all(folder_);
  }
  std::vector<std::pair<std::string, std::string>> env() const {
    return {{"TMPDIR", folder_.string()}, {"XDG_RUNTIME_DIR", folder_.string()}};
  }
  std::vector<std::string> argv(int pes, const std::string& action, const std::string& peers, bool threads = false) {
    std::vector<std::string> all = {isotope_binary(), "run", "-n", std::to_string(pes)};
    if (threads) all.push_back("--threads");
    for (const std::string& argument : {test_program("fault_pe"), std::string("0"), action, peers})
      all.push_back(argument);
    return all;
  }

 private:
  std::filesystem::path folder_;
  std::set<std::string> shm_, temporary_;
};

void kill_all(const Command& run) {
  std::vector<int> pids = descendants(run.pid());
  pids.push_back(run.pid());
  for (int pid : pids) ::kill(pid, SIGKILL);
}

TEST_F(Leftovers, OfAJobKilledWholeAreNone) {
  for (int round = 0; round < 50; ++round) {
    const char* peers[] = {"barrier", "kernel", "compute"};
    Command run(argv(2 + round % 3, "sleep", peers[round % 3], round % 7 == 6), env());
    ASSERT_TRUE(run.await_output("acting", 1)) << run.err();
    kill_all(run);
    EXPECT_EQ(run.wait(), 128 + SIGKILL);
    ASSERT_TRUE(no_process_left()) << "round " << round;
    if (round % 10 != 9) continue;
    Command again(argv(3, "none", "barrier"), env());
    EXPECT_EQ(again.wait(), 0) << again.err();
    ASSERT_TRUE(no_process_left(1s));
  }
}

// At any moment of its start, when memory and sockets are half made.
TEST_F(Leftovers, OfAJobKilledWhileItStartsAreNone) {
  std::minstd_rand delay(20240607);
  for (int round = 0; round < 30; ++round) {
    Command run(argv(4, "sleep", "barrier"), env());
    std::this_thread::sleep_for(std::chrono::microseconds(delay() % 60'000));
    kill_all(run);
    EXPECT_EQ(run.wait(), 128 + SIGKILL);
    ASSERT_TRUE(no_process_left()) << "round " << round << ": a PE that was just being started lives";
  }
  Command again(argv(4, "none", "barrier"), env());
  EXPECT_EQ(again.wait(), 0) << again.err();
}

// The launcher alone is killed: PEs end by themselves, wherever they are.
TEST_F(Leftovers, OfAKilledLauncherEndSoon) {
  for (const bool threads : {false, true}) {
    for (const std::string peers : {"barrier", "kernel", "compute", "deaf"}) {
      for (const int pes : {2, 5}) {
        SCOPED_TRACE(std::to_string(pes) + " " + peers + (threads ? " threads" : " processes"));
        Command run(argv(pes, "sleep", peers, threads), env());
        ASSERT_TRUE(run.await_output("acting", 1)) << run.err();
        ASSERT_FALSE(descendants(run.pid()).empty());
        ::kill(run.pid(), SIGKILL);
        EXPECT_EQ(run.wait(), 128 + SIGKILL);
        EXPECT_TRUE(no_process_left(kEndBound * kSlow));
      }
    }
  }
}

// Programs that never heard of the library, too.
TEST_F(Leftovers, OfAKilledLauncherOfForeignProgramsEndSoon) {
  Command run({isotope_binary(), "run", "-n", "3", "/bin/sh", "-c", "echo ready; exec sleep 60"}, env());
  ASSERT_TRUE(run.await_output("ready", 3)) << run.err();
  ::kill(run.pid(), SIGKILL);
  EXPECT_EQ(run.wait(), 128 + SIGKILL);
  EXPECT_TRUE(no_process_left(kEndBound * kSlow));
}

// A job that ends well, or is told to end by a signal, leaves nothing either.
TEST_F(Leftovers, OfATerminatedLauncherAreNone) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    Command run(argv(3, "sleep", "barrier"), env());
    ASSERT_TRUE(run.await_output("acting", 1)) << run.err();
    ::kill(run.pid(), signal);
    EXPECT_EQ(run.wait(), 128 + signal) << run.err();
    EXPECT_LE(run.ended_ns() - run.output_ns(), static_cast<std::uint64_t>(kEndBound.count()) * kSlow);
    EXPECT_TRUE(no_process_left(1s));
  }
}

}  // namespace
}  // namespace isotope
