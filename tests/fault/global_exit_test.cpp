// One PE calls global_exit: every process of the job ends with that code, 0 included, wherever the others are. Row 6 of
// the matrix.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <string>
#include <thread>
#include <tuple>

#include "support/fault_job.hpp"

namespace isotope {
namespace {

using testing::Command;
using testing::FaultJob;
using testing::isotope_binary;
using testing::kEndBound;
using testing::kSlow;
using testing::no_process_left;
using testing::PesAs;
using testing::Seat;
using testing::sit;
using testing::test_program;

using ExitCase = std::tuple<int, const char*, const char*, bool>;  // code, from, peers, threads

class GlobalExit : public ::testing::TestWithParam<ExitCase> {};

std::string exit_case_name(const ::testing::TestParamInfo<ExitCase>& info) {
  const auto& [code, from, peers, threads] = info.param;
  return std::string(from) + std::to_string(code) + "_" + peers + (threads ? "_threads" : "_processes");
}

INSTANTIATE_TEST_SUITE_P(All, GlobalExit,
                         ::testing::Combine(::testing::Values(0, 1, 7, 255), ::testing::Values("exit", "exit_thread"),
                                            ::testing::Values("barrier", "kernel", "compute"), ::testing::Bool()),
                         exit_case_name);

TEST_P(GlobalExit, EndsEveryPeWithTheCode) {
  const auto& [code, from, peers, threads] = GetParam();
  // Every count of PEs meets every way to be stuck.
  const int counts[] = {2, 3, 5, 8};
  const int pes = counts[(code + std::string(peers).size() + std::string(from).size()) % 4];
  const int actor = code == 7 ? 0 : pes - 1;
  std::vector<std::string> argv = {isotope_binary(), "run", "-n", std::to_string(pes)};
  if (threads) argv.push_back("--threads");
  for (const std::string& argument : {test_program("fault_pe"), std::to_string(actor),
                                      std::string(from) + ":" + std::to_string(code), std::string(peers)})
    argv.push_back(argument);
  Command run(argv);
  ASSERT_TRUE(run.await_output("acting", 1)) << run.err();
  EXPECT_EQ(run.wait(), code) << run.err();
  EXPECT_LE(run.ended_ns() - run.output_ns(), static_cast<std::uint64_t>(kEndBound.count()) * kSlow);
  EXPECT_TRUE(no_process_left(std::chrono::seconds(1))) << "the launcher ended before its PEs";
  if (code == 0) {
    EXPECT_EQ(run.err(), "") << "a job that was told to end well has nothing to complain about";
  }
}

// With no launcher to end anybody: each PE's own process has the code.
class GlobalExitAlone : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, GlobalExitAlone, ::testing::Values(2, 3, 5, 8), ::testing::PrintToStringParamName());

ISOTOPE_KERNEL void wait_for_nobody(Team team, Signal* flag) { wait_until(this_thread(), team, flag, Cmp::ge, 1); }

TEST_P(GlobalExitAlone, EndsEveryProcessWithTheCode) {
  const int actor = GetParam() - 1;
  for (const int code : {0, 7, 255}) {
    FaultJob job({GetParam(), PesAs::processes});
    job.start([&](World& world, Seat& seat) {
      auto flag = world.alloc_zeroed<Signal>(1);
      world.barrier();
      seat.set_ready();
      if (world.rank() == actor) {
        seat.await_strike();
        world.global_exit(code);
      }
      switch (world.rank() % 4) {
        case 0:
          world.barrier();
          break;
        case 1:
          world.launch<wait_for_nobody>({}, world.team(), flag.data());
          world.synchronize();
          break;
        case 2:  // the first to see that the job is over must not make an Error of it
          while (world.status().code == Code::ok) std::this_thread::yield();
          break;
        default:
          sit();
      }
      ADD_FAILURE() << "a PE went on after global_exit";
    });
    ASSERT_TRUE(job.all_ready());
    const std::uint64_t struck = job.strike(actor, 0);
    job.wait(kEndBound);
    EXPECT_LE(testing::now_ns() - struck, static_cast<std::uint64_t>(kEndBound.count()) * kSlow);
    for (int pe = 0; pe < job.pes(); ++pe) {
      EXPECT_TRUE(WIFEXITED(job.wait_status(pe)))
          << "PE " << pe << " was killed by signal " << WTERMSIG(job.wait_status(pe));
      EXPECT_EQ(WEXITSTATUS(job.wait_status(pe)), code) << "PE " << pe;
    }
    EXPECT_TRUE(no_process_left(std::chrono::seconds(1)));
  }
}

// Two PEs call it at once: one of the two codes wins, and it is the code of all.
TEST(GlobalExitTwice, FirstCallWins) {
  FaultJob job({3, PesAs::processes});
  job.start([&](World& world, Seat& seat) {
    world.barrier();
    seat.set_ready();
    seat.await_strike();
    if (world.rank() < 2) world.global_exit(20 + world.rank());
    sit();
  });
  ASSERT_TRUE(job.all_ready());
  for (int pe = 0; pe < 3; ++pe) job.strike(pe, 0);
  job.wait(kEndBound);
  const int code = WEXITSTATUS(job.wait_status(0));
  EXPECT_TRUE(code == 20 || code == 21) << code;
  for (int pe = 1; pe < 3; ++pe) EXPECT_EQ(WEXITSTATUS(job.wait_status(pe)), code) << "PE " << pe;
}

}  // namespace
}  // namespace isotope
