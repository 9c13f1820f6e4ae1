// A PE crashes under `isotope run`: the job's exit status says how, one line says who, and nothing stays behind. Row 5
// of the matrix, and row 4 as the launcher sees it.
#include <gtest/gtest.h>

#include <csignal>
#include <sstream>
#include <string>
#include <vector>

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
  int pes;
  const char* action;
  const char* peers;
  int exit_code;      // -1: anything but 0
  const char* named;  // in the line about it
  bool threads = false;

  friend void PrintTo(const CrashCase& c, std::ostream* out) {
    *out << c.pes << " " << c.action << " " << c.peers << (c.threads ? " threads" : " processes");
  }
};

std::vector<CrashCase> crash_cases() {
  std::vector<CrashCase> cases;
  for (const int pes : {2, 3, 5, 8}) {
    cases.push_back({pes, "abort", "barrier", 128 + SIGABRT, "SIGABRT"});
    cases.push_back({pes, "abort", "kernel", 128 + SIGABRT, "SIGABRT"});
    cases.push_back({pes, "segv", "barrier", 128 + SIGSEGV, "SIGSEGV"});
    cases.push_back({pes, "kill", "kernel", 128 + SIGKILL, "SIGKILL"});
    cases.push_back({pes, "quick_exit", "barrier", -1, "PE"});
    cases.push_back({pes, "throw", "barrier", 1, "PE"});
    cases.push_back({pes, "return:3", "kernel", 3, "3"});
    cases.push_back({pes, "return:3", "barrier", 3, "3"});
    cases.push_back({pes, "abort", "barrier", 128 + SIGABRT, "SIGABRT", true});
    cases.push_back({pes, "segv", "kernel", 128 + SIGSEGV, "SIGSEGV", true});
    cases.push_back({pes, "throw", "kernel", 1, "1", true});
    cases.push_back({pes, "return:3", "barrier", 3, "3", true});
    cases.push_back({pes, "return:3", "kernel", 3, "3", true});
  }
  // Peers that do not look get some seconds' grace, so these are few.
  cases.push_back({2, "segv", "compute", 128 + SIGSEGV, "SIGSEGV"});
  cases.push_back({3, "quick_exit", "compute", -1, "PE"});
  cases.push_back({5, "return:3", "compute", 3, "3"});
  cases.push_back({3, "abort", "deaf", 128 + SIGABRT, "SIGABRT"});
  return cases;
}

class Crash : public ::testing::TestWithParam<CrashCase> {};

std::string crash_name(const ::testing::TestParamInfo<CrashCase>& info) {
  std::string name = ::testing::PrintToString(info.param);
  for (char& c : name)
    if (c == ':' || c == ' ') c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Crash, ::testing::ValuesIn(crash_cases()), crash_name);

// Lines that the launcher wrote about how the job ended; those of PEs begin with their number.
std::vector<std::string> verdict(const std::string& err) {
  std::istringstream lines(err);
  std::string line;
  std::vector<std::string> found;
  while (std::getline(lines, line))
    if (line.rfind("isotope", 0) == 0) found.push_back(line);
  return found;
}

TEST_P(Crash, EndsTheJobWithItsStatus) {
  const CrashCase& crash = GetParam();
  const int actor = crash.pes - 1;
  std::vector<std::string> argv = {isotope_binary(), "run", "-n", std::to_string(crash.pes)};
  if (crash.threads) argv.push_back("--threads");
  argv.insert(argv.end(), {test_program("fault_pe"), std::to_string(actor), crash.action, crash.peers});
  Command run(argv);
  ASSERT_TRUE(run.await_output("acting", 1)) << run.err();
  const int exit_code = run.wait();
  EXPECT_LE(run.ended_ns() - run.output_ns(), static_cast<std::uint64_t>(kEndBound.count()) * kSlow);
  if (crash.exit_code >= 0) {
    EXPECT_EQ(exit_code, crash.exit_code) << run.err();
  }
  EXPECT_GT(exit_code, 0) << run.err();
  EXPECT_LT(exit_code, 256);
  EXPECT_TRUE(no_process_left(std::chrono::seconds(1))) << "the launcher ended before its PEs";
  const std::vector<std::string> said = verdict(run.err());
  ASSERT_EQ(said.size(), 1u) << "one line, in:\n" << run.err();
  // A process of several PEs dies as one.
  if (!crash.threads) {
    EXPECT_NE(said[0].find("PE " + std::to_string(actor)), std::string::npos) << run.err();
  }
  EXPECT_NE(said[0].find(crash.named), std::string::npos) << run.err();
}

}  // namespace
}  // namespace isotope
