// A PE dies, and every other one is told who, wherever it waits: rows 1, 2 and 4 of the fault matrix.
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "support/fault_job.hpp"

namespace isotope {
namespace {

using testing::FaultJob;
using testing::kEndBound;
using testing::kReleaseBound;
using testing::no_process_left;
using testing::PesAs;
using testing::Seat;
using testing::sit;

class PeerDeath : public ::testing::TestWithParam<testing::FaultShape> {
 protected:
  // A launcher that lost a PE says which, once, and does not call the job a success.
  void expect_launcher_names(const FaultJob& job, int victim, int exit_code) {
    if (GetParam().as != PesAs::launched) return;
    const JobResult result = job.launcher_result();
    EXPECT_EQ(result.exit_code, exit_code) << result.message;
    EXPECT_EQ(result.first_failed, victim) << result.message;
    EXPECT_EQ(testing::count_of(result.message, "PE " + std::to_string(victim)), 1) << result.message;
  }
};
INSTANTIATE_TEST_SUITE_P(All, PeerDeath, ::testing::ValuesIn(testing::process_shapes()), testing::fault_shape_name);

ISOTOPE_KERNEL void wait_for_nobody(Team team, Signal* flag) { wait_until(this_thread(), team, flag, Cmp::ge, 1); }
ISOTOPE_KERNEL void block_waits_for_nobody(Team team, Signal* flag) {
  if (wait_until(this_block(), team, flag, Cmp::ge, 1)) flag->value = 100;
}

TEST_P(PeerDeath, EndsAHostBarrier) {
  for (const int victim : {0, GetParam().pes - 1}) {
    FaultJob job(GetParam());
    job.start([&](World& world, Seat& seat) {
      world.barrier();
      seat.set_ready();
      if (world.rank() == victim) sit();
      world.barrier();
    });
    ASSERT_TRUE(job.all_ready());
    const std::uint64_t struck = job.strike(victim);
    job.wait();
    job.expect_others_threw(victim, Code::peer_lost, struck, kReleaseBound);
    expect_launcher_names(job, victim, 128 + SIGKILL);
    EXPECT_TRUE(no_process_left(kEndBound));
  }
}

TEST_P(PeerDeath, EndsACollectiveAllocation) {
  const int victim = GetParam().pes / 2;
  FaultJob job(GetParam());
  job.start([&](World& world, Seat& seat) {
    world.barrier();
    seat.set_ready();
    if (world.rank() == victim) sit();
    auto never = world.alloc<int>(1000);
  });
  ASSERT_TRUE(job.all_ready());
  const std::uint64_t struck = job.strike(victim);
  job.wait();
  job.expect_others_threw(victim, Code::peer_lost, struck, kReleaseBound);
}

TEST_P(PeerDeath, DrainsAKernelOfOneThread) {
  const int victim = GetParam().pes / 2;
  FaultJob job(GetParam());
  job.start([&](World& world, Seat& seat) {
    auto flag = world.alloc_zeroed<Signal>(1);
    if (world.rank() != victim) world.launch<wait_for_nobody>({}, world.team(), flag.data());
    seat.set_ready();
    if (world.rank() == victim) sit();
    world.synchronize();
  });
  ASSERT_TRUE(job.all_ready());
  const std::uint64_t struck = job.strike(victim);
  job.wait();
  job.expect_others_threw(victim, Code::peer_lost, struck, kReleaseBound);
  expect_launcher_names(job, victim, 128 + SIGKILL);
  EXPECT_TRUE(no_process_left(kEndBound));
}

// Blocks that wait together, and status() telling before synchronize() throws.
TEST_P(PeerDeath, DrainsAGridAndShowsInStatus) {
  const int victim = GetParam().pes - 1;
  FaultJob job(GetParam());
  job.start([&](World& world, Seat& seat) {
    auto flag = world.alloc_zeroed<Signal>(1);
    world.barrier();
    if (world.rank() != victim)
      world.launch<block_waits_for_nobody>({.grid = 3, .block = 48}, world.team(), flag.data());
    seat.set_ready();
    if (world.rank() == victim) sit();
    Status status;
    const std::uint64_t until = testing::now_ns() + 5'000'000'000u;
    while ((status = world.status()).code == Code::ok && testing::now_ns() < until) ::usleep(500);
    EXPECT_EQ(status.code, Code::peer_lost) << status.message;
    EXPECT_EQ(status.peer, victim) << status.message;
    EXPECT_THROW(world.synchronize(), Error);
    EXPECT_EQ(flag[0].value, 0u) << "a wait that gave up said that it was met";
    EXPECT_THROW(world.barrier(), Error) << "the job is over";
    world.synchronize();
  });
  ASSERT_TRUE(job.all_ready());
  const std::uint64_t struck = job.strike(victim);
  job.wait();
  job.expect_others_threw(victim, Code::peer_lost, struck, kReleaseBound);
}

// The PE's own child still holds copies of all its descriptors: only the process itself counts.
TEST_P(PeerDeath, IsSeenThoughItsChildLives) {
  const int victim = 0;
  FaultJob job(GetParam());
  job.start([&](World& world, Seat& seat) {
    world.barrier();
    if (world.rank() == victim) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::setpgid(0, 0);
        sit();
      }
      seat.words[0] = static_cast<std::uint64_t>(child);
      seat.set_ready();
      sit();
    }
    seat.set_ready();
    world.barrier();
  });
  ASSERT_TRUE(job.all_ready());
  const std::uint64_t struck = job.strike(victim);
  job.wait();
  job.expect_others_threw(victim, Code::peer_lost, struck, kReleaseBound);
  ::kill(static_cast<pid_t>(job.seat(victim).words[0]), SIGKILL);
  EXPECT_TRUE(no_process_left(kEndBound));
}

// Status 0 is no excuse for leaving the others alone.
TEST_P(PeerDeath, ByExitZeroIsADeathToo) {
  const int victim = GetParam().pes / 2;
  for (const bool in_kernel : {false, true}) {
    FaultJob job(GetParam());
    job.start([&](World& world, Seat& seat) {
      auto flag = world.alloc_zeroed<Signal>(1);
      world.barrier();
      if (in_kernel && world.rank() != victim) world.launch<wait_for_nobody>({}, world.team(), flag.data());
      seat.set_ready();
      if (world.rank() == victim) {
        seat.await_strike();
        std::_Exit(0);
      }
      if (in_kernel) world.synchronize();
      world.barrier();
    });
    ASSERT_TRUE(job.all_ready());
    const std::uint64_t struck = job.strike(victim, 0);
    job.wait();
    job.expect_others_threw(victim, Code::peer_lost, struck, kReleaseBound);
    EXPECT_TRUE(no_process_left(kEndBound));
    if (GetParam().as != PesAs::launched) continue;
    const JobResult result = job.launcher_result();
    EXPECT_NE(result.exit_code, 0) << "a PE that left without a word makes no success";
    EXPECT_EQ(result.first_failed, victim) << result.message;
    EXPECT_EQ(testing::count_of(result.message, "PE " + std::to_string(victim)), 1) << result.message;
  }
}

// Two die at the same moment: the others end all the same, and each names one that did.
TEST_P(PeerDeath, OfTwoAtOnce) {
  if (GetParam().pes < 3) GTEST_SKIP() << "nobody would be left to tell";
  FaultJob job(GetParam());
  job.start([&](World& world, Seat& seat) {
    world.barrier();
    seat.set_ready();
    if (world.rank() < 2) sit();
    world.barrier();
  });
  ASSERT_TRUE(job.all_ready());
  const std::uint64_t struck = job.strike(0);
  job.strike(1);
  job.wait();
  for (int pe = 2; pe < job.pes(); ++pe) {
    EXPECT_TRUE(job.threw(pe, Code::peer_lost, job.seat(pe).peer == 1 ? 1 : 0));
    EXPECT_TRUE(job.ended_between(pe, struck, {}, kReleaseBound));
  }
  EXPECT_TRUE(no_process_left(kEndBound));
}

}  // namespace
}  // namespace isotope
