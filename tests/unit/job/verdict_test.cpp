// Who failed first, with which code and which sentence.
#include "job/verdict.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace isotope::job {
namespace {

PeEnd exited(int rank, int status, int open_worlds = 0) { return {rank, 100 + rank, {true, status, 0}, open_worlds}; }
PeEnd killed(int rank, int signal) { return {rank, 100 + rank, {false, 0, signal}, 1}; }

TEST(Verdict, WhatIsAFailure) {
  EXPECT_FALSE(is_failure(exited(0, 0)));
  EXPECT_TRUE(is_failure(exited(0, 3)));
  EXPECT_TRUE(is_failure(exited(0, 0, 1)));
  EXPECT_TRUE(is_failure(killed(0, SIGKILL)));
}

TEST(Verdict, ExitCodes) {
  EXPECT_EQ(exit_code_of(exited(0, 0)), 0);
  EXPECT_EQ(exit_code_of(exited(0, 3)), 3);
  EXPECT_EQ(exit_code_of(exited(0, 0, 2)), 1);
  EXPECT_EQ(exit_code_of(killed(0, SIGSEGV)), 139);
}

TEST(Verdict, Sentences) {
  EXPECT_EQ(describe(killed(2, SIGSEGV)), "PE 2 (pid 102) was killed by SIGSEGV (signal 11)");
  EXPECT_EQ(describe(exited(1, 3)), "PE 1 (pid 101) exited with status 3");
  EXPECT_EQ(describe(exited(1, 0, 1)),
            "PE 1 (pid 101) exited with status 0 without leaving the job (its World was never destroyed)");
  EXPECT_EQ(describe(exited(0, 3), "the process of all 4 PEs"),
            "the process of all 4 PEs (pid 100) exited with status 3");
  bootstrap::AbortNotice notice{Code::exited, 2, -1, 5, ""};
  EXPECT_EQ(describe(notice), "PE 2 called global_exit(5)");
  notice = {Code::aborted, 1, -1, 0, "no convergence"};
  EXPECT_EQ(describe(notice), "PE 1 ended the job (aborted): no convergence");
}

TEST(Verdict, TheCauseIsPreferredToItsConsequences) {
  // PE 0 and 1 exited with an error because PE 2 was killed.
  EXPECT_EQ(first_of({exited(0, 1), exited(1, 1), killed(2, SIGKILL)}, -1).rank, 2);
  // ... because PE 2 left in silence.
  EXPECT_EQ(first_of({exited(0, 1), exited(2, 0, 1)}, -1).rank, 2);
  // A notice names the culprit.
  EXPECT_EQ(first_of({killed(0, SIGABRT), exited(1, 1)}, 1).rank, 1);
  // Among equals the lowest rank.
  EXPECT_EQ(first_of({exited(1, 4), exited(3, 5)}, -1).rank, 1);
}

TEST(Verdict, NamesPesAndDurations) {
  EXPECT_EQ(name_pes({3}), "PE 3");
  EXPECT_EQ(name_pes({0, 1}), "PEs 0, 1");
  EXPECT_EQ(name_pes({0, 1, 2, 5, 7, 8}), "PEs 0-2, 5, 7, 8");
  EXPECT_EQ(name_duration(std::chrono::milliseconds(500)), "500 ms");
  EXPECT_EQ(name_duration(std::chrono::milliseconds(1500)), "1.5 s");
  EXPECT_EQ(name_duration(std::chrono::minutes(2)), "2 min");
}

}  // namespace
}  // namespace isotope::job
