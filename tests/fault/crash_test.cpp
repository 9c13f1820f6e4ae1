// A PE crashes under `isotope run`: the job's exit status says how, one line says who, and nothing stays behind. Row 5 of the matrix,
// and row 4 as the launcher sees it.
#include <gtest/gtest.h>

#include <csignal>
#include <sstream>
#include <string>
#include <tuple>

#include "support/fault_job.hpp"

namespace isotope {
namespace {

using testing::Command;
using testing::isotope_binary;
using testing::kEndBound;
using testing::kSlow;
using testing::no_process_left;
using testing::test_program;

struct CrashCase {
  const char* action;
  const char* peers;
  int exit_code;      // -1: anything but 0
  const char* named;  // in the line about it
};

class Crash : public ::testing::TestWithParam<std::tuple<int, CrashCase>> {};

std::string crash_name(const ::testing::TestParamInfo<std::tuple<int, CrashCase>>& info) {
  const auto& [pes, crash] = info.param;
  std::string name = std::to_string(pes) + "_" + crash.action + "_" + crash.peers;
  for (char& c : name)
    if (c == ':') c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Crash,
                         ::testing::Combine(::testing::Values(2, 3, 5, 8),
                                            ::testing::Values(CrashCase{"abort", "barrier", 128 + SIGABRT, "SIGABRT"},
                                                              CrashCase{"abort", "kernel", 128 + SIGABRT, "SIGABRT"},
                                                              CrashCase{"segv", "barrier", 128 + SIGSEGV, "SIGSEGV"},
                                                              CrashCase{"segv", "compute", 128 + SIGSEGV, "SIGSEGV"},
                                                              CrashCase{"kill", "kernel", 128 + SIGKILL, "SIGKILL"},
                                                              CrashCase{"quick_exit", "barrier", -1, "PE"},
                                                              CrashCase{"quick_exit", "compute", -1, "PE"},
                                                              CrashCase{"throw", "barrier", -1, "PE"},
                                                              CrashCase{"return:3", "compute", 3, "3"})),
                         crash_name);

// Lines that the launcher wrote about how the job ended.
std::string verdict(const std::string& err) {
  std::istringstream lines(err);
  std::string line, found;
  while (std::getline(lines, line))
    if (line.rfind("isotope run", 0) == 0) found += line + "\n";
  return found;
}

TEST_P(Crash, EndsTheJobWithItsStatus) {
  const auto& [pes, crash] = GetParam();
  const int actor = pes - 1;
  Command run({isotope_binary(), "run", "-n", std::to_string(pes), test_program("fault_pe"), std::to_string(actor), crash.action,
               crash.peers});
  ASSERT_TRUE(run.await_output("acting", 1)) << run.err();
  const int exit_code = run.wait();
  EXPECT_LE(run.ended_ns() - run.output_ns(), static_cast<std::uint64_t>(kEndBound.count()) * kSlow);
  if (crash.exit_code >= 0) {
    EXPECT_EQ(exit_code, crash.exit_code) << run.err();
  }
  EXPECT_GT(exit_code, 0) << run.err();
  EXPECT_LT(exit_code, 256);
  EXPECT_TRUE(no_process_left(std::chrono::seconds(1))) << "the launcher ended before its PEs";
  const std::string said = verdict(run.err());
  EXPECT_EQ(testing::count_of(said, "PE " + std::to_string(actor)), 1) << "in:\n" << run.err();
  EXPECT_NE(said.find(crash.named), std::string::npos) << run.err();
}

// Peers that ignore SIGTERM get SIGKILL after the grace, still within the bound; and they do get the grace.
TEST(CrashWithDeafPeers, EndsWithinTheBound) {
  Command run({isotope_binary(), "run", "-n", "3", test_program("fault_pe"), "1", "abort", "deaf"});
  ASSERT_TRUE(run.await_output("acting", 1)) << run.err();
  EXPECT_EQ(run.wait(), 128 + SIGABRT) << run.err();
  EXPECT_LE(run.ended_ns() - run.output_ns(), static_cast<std::uint64_t>(kEndBound.count()) * kSlow);
  EXPECT_TRUE(no_process_left(std::chrono::seconds(1)));
}

}  // namespace
}  // namespace isotope
