// `isotope run` with programs that know nothing of Isotope.
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <csignal>
#include <fstream>

#include "cli/run_binary.hpp"

namespace isotope::cli::test {
namespace {

using Lines = std::vector<std::string>;

Outcome shell(std::vector<std::string> options, const std::string& script,
              const Binary::Environment& environment = {}) {
  options.insert(options.begin(), "run");
  options.insert(options.end(), {"sh", "-c", script});
  return isotope(options, environment);
}

TEST(Run, AnyProgramFindsItsPlace) {
  for (const int pes : {1, 2, 3, 5, 8}) {
    const Outcome outcome = shell({"-n", std::to_string(pes)}, "echo $ISOTOPE_RANK/$ISOTOPE_SIZE/$ISOTOPE_LOCAL_RANK");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    Lines expected;
    for (int rank = 0; rank < pes; ++rank) {
      const std::string r = std::to_string(rank);
      expected.push_back(r + "/" + std::to_string(pes) + "/" + r);
    }
    EXPECT_EQ(sorted_lines(outcome.out), expected);
    EXPECT_EQ(outcome.err, "");
  }
}

TEST(Run, WhatFollowsTheProgramIsTheProgramsOwn) {
  EXPECT_EQ(isotope({"run", "echo", "-n2", "--threads", "--help", "run", "--", "x"}).out,
            "-n2 --threads --help run -- x\n");
  EXPECT_EQ(isotope({"run", "-n", "1", "--", "echo", "--", "-n"}).out, "-- -n\n");
  EXPECT_EQ(isotope({"run", "-n1", "echo", "a b", ""}).out, "a b \n");
}

TEST(Run, ExitCodes) {
  EXPECT_EQ(shell({"-n", "3"}, "[ $ISOTOPE_RANK = 1 ] && exit 7; exit 0").code, 7);
  EXPECT_EQ(shell({"-n", "3"}, "[ $ISOTOPE_RANK = 1 ] && kill -KILL $$; exit 0").code, 137);
  const Outcome crashed = shell({"-n", "3"}, "[ $ISOTOPE_RANK = 2 ] && kill -SEGV $$; sleep 1000");
  EXPECT_EQ(crashed.code, 139);
  EXPECT_NE(crashed.err.find("isotope: PE 2 (pid "), std::string::npos) << crashed.err;
  EXPECT_NE(crashed.err.find("was killed by SIGSEGV (signal 11)\n"), std::string::npos) << crashed.err;
  EXPECT_EQ(std::count(crashed.err.begin(), crashed.err.end(), '\n'), 1) << crashed.err;
  EXPECT_LE(crashed.seconds, 20);
  EXPECT_EQ(shell({"-q"}, "exit 3").err, "");
}

TEST(Run, TimeoutIsBoundedOnBothSides) {
  const Outcome outcome = shell({"-n", "2", "--timeout", "500ms"}, "[ $ISOTOPE_RANK = 0 ] && exit 0; sleep 1000");
  EXPECT_EQ(outcome.code, 124);
  EXPECT_GE(outcome.seconds, 0.5);
  EXPECT_LE(outcome.seconds, 10);
  EXPECT_EQ(outcome.err, "isotope: the job's timeout of 500 ms is over; still running: PE 1\n");
}

TEST(Run, EnvironmentAndPlatform) {
  EXPECT_EQ(shell({"--env", "A=1", "--env", "B=x=y", "--platform", "cpu"}, "echo $A $B $ISOTOPE_PLATFORM").out,
            "1 x=y cpu\n");
}

TEST(Run, TagsOutput) {
  const Outcome outcome = shell({"-n", "3", "--tag-output"}, "echo out; echo err >&2; printf last");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(sorted_lines(outcome.out), (Lines{"[0] last", "[0] out", "[1] last", "[1] out", "[2] last", "[2] out"}));
  EXPECT_EQ(sorted_lines(outcome.err), (Lines{"[0] err", "[1] err", "[2] err"}));
}

TEST(Run, TagsEveryByteOfAFloodAlsoOfAPeThatDies) {
  const Outcome outcome = shell({"-n", "2", "--tag-output"}, "yes line | head -n 100000; kill -KILL $$");
  EXPECT_EQ(outcome.code, 137);
  const auto lines = sorted_lines(outcome.out);
  EXPECT_GE(std::count(lines.begin(), lines.end(), "[0] line") + std::count(lines.begin(), lines.end(), "[1] line"),
            100000);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "[0] line") + std::count(lines.begin(), lines.end(), "[1] line"),
            static_cast<long>(lines.size()));
}

TEST(Run, ColoursOnlyWhenToldOrOnATerminal) {
  const auto tagged = [](const Binary::Environment& environment) {
    return shell({"--tag-output"}, "echo x", environment).out;
  };
  EXPECT_EQ(tagged({}), "[0] x\n");
  EXPECT_EQ(tagged({{"ISOTOPE_COLOR", "always"}}), "\033[36m[0]\033[0m x\n");
  EXPECT_EQ(tagged({{"ISOTOPE_COLOR", "always"}, {"NO_COLOR", "1"}}), "\033[36m[0]\033[0m x\n");
  EXPECT_EQ(tagged({{"ISOTOPE_COLOR", "never"}}), "[0] x\n");
}

TEST(Run, ThreadsStartOneProcess) {
  const std::string program = ISOTOPE_TEST_PROGRAM_DIR "/threads_mark";
  const Outcome outcome = isotope({"run", "-n", "4", "--threads", program});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "threads=4 rank=unset size=unset control=unset\n");
  const Outcome failed = isotope({"run", "-n", "4", "--threads", program, "5"});
  EXPECT_EQ(failed.code, 5);
  EXPECT_NE(failed.err.find("the process of all 4 PEs"), std::string::npos) << failed.err;
}

TEST(Run, InterruptReachesEveryPe) {
  Binary binary({"run", "-n", "3", "sh", "-c", "trap 'echo bye; exit 0' INT; echo up; while :; do sleep 0.05; done"});
  binary.await_lines(3);
  ::kill(binary.pid(), SIGINT);
  const Outcome outcome = binary.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(sorted_lines(outcome.out), (Lines{"bye", "bye", "bye", "up", "up", "up"}));
}

TEST(Run, AnInterruptedJobGives130) {
  Binary binary({"run", "-n", "3", "sh", "-c", "trap - INT; echo up; exec sleep 1000"});
  binary.await_lines(3);
  ::kill(binary.pid(), SIGINT);
  const Outcome outcome = binary.wait();
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("SIGINT"), std::string::npos) << outcome.err;
}

std::vector<std::string> shared_memory_names() {
  std::vector<std::string> names;
  if (FILE* list = ::popen("ls /dev/shm 2>/dev/null", "r")) {
    char line[512];
    while (std::fgets(line, sizeof line, list) != nullptr) {
      if (std::string(line).find("isotope") != std::string::npos) names.emplace_back(line);
    }
    ::pclose(list);
  }
  return names;
}

TEST(Run, FiftyKilledLaunchersLeaveNothing) {
  // Orphans become children of this process, so that waiting for all of them is waiting for everything that was
  // started.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const auto before = shared_memory_names();
  for (int i = 0; i < 50; ++i) {
    Binary binary({"run", "-n", "3", "sh", "-c", "sleep 1000 & echo up; wait"});
    binary.await_lines(3);
    ::kill(binary.pid(), SIGKILL);
    // The end of both streams: whoever was started has closed them.
    const Outcome outcome = binary.wait();
    ASSERT_EQ(outcome.code, 1000 + SIGKILL);
    ASSERT_LE(outcome.seconds, 6);
    const auto start = std::chrono::steady_clock::now();
    pid_t got;
    while ((got = ::waitpid(-1, nullptr, WNOHANG)) >= 0 &&
           std::chrono::steady_clock::now() - start < std::chrono::seconds(5)) {
      if (got == 0) ::usleep(1000);
    }
    ASSERT_EQ(got, -1) << "a process was left in run " << i;
  }
  EXPECT_EQ(shared_memory_names(), before);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace isotope::cli::test
