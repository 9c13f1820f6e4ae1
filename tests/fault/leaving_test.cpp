// A PE ends its part by intent or by accident, and the others' waits end with that news: abort, an exception, a normal
// leave, silence.
#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/fault_job.hpp"

namespace isotope {
namespace {

using namespace std::chrono_literals;
using testing::FaultJob;
using testing::kReleaseBound;
using testing::PesAs;
using testing::Seat;

class Leaving : public ::testing::TestWithParam<testing::FaultShape> {};
INSTANTIATE_TEST_SUITE_P(All, Leaving, ::testing::ValuesIn(testing::all_shapes()), testing::fault_shape_name);

ISOTOPE_KERNEL void wait_for_nobody(Team team, Signal* flag) { wait_until(this_thread(), team, flag, Cmp::ge, 1); }

ISOTOPE_KERNEL void busy() { std::this_thread::sleep_for(20ms); }

// run_threads rethrows the failure that came first, not what followed from it.
void expect_rethrown(const std::exception_ptr& thrown, const std::string& what) {
  ASSERT_TRUE(thrown) << "run_threads threw nothing";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    EXPECT_EQ(error.what(), what);
  }
}

TEST_P(Leaving, ByAbortEndsEveryWait) {
  const int actor = GetParam().pes - 1;
  for (const bool from_a_thread : {false, true}) {
    FaultJob job(GetParam());
    job.run([&](World& world, Seat& seat) {
      auto flag = world.alloc_zeroed<Signal>(1);
      world.barrier();
      job.meet(7);  // a barrier that a slow PE is still in would end with the news, too
      seat.begin();
      if (world.rank() == actor) {
        if (from_a_thread) {
          std::thread([&] { world.abort("the cheese ran out"); }).join();
        } else {
          world.abort("the cheese ran out");
        }
        world.abort("a later reason, which is not the first");
        EXPECT_EQ(world.status().code, Code::aborted);
      } else if (world.rank() % 2 == 0) {
        world.launch<wait_for_nobody>({}, world.team(), flag.data());
        seat.attempt([&] { world.synchronize(); });
      }
      seat.attempt([&] { world.barrier(); });
      job.meet(0);
    });
    for (int pe = 0; pe < job.pes(); ++pe) {
      EXPECT_TRUE(job.threw(pe, Code::aborted, actor));
      EXPECT_NE(std::string(job.seat(pe).message).find("the cheese ran out"), std::string::npos)
          << job.seat(pe).message;
      EXPECT_TRUE(job.took_between(pe, {}, kReleaseBound));
    }
  }
}

// Threads of one PE are inside a collective call and a kernel while another of its threads aborts.
TEST_P(Leaving, ByAbortEndsTheCallersOwnThreads) {
  FaultJob job(GetParam());
  job.run([&](World& world, Seat& seat) {
    auto flag = world.alloc_zeroed<Signal>(1);
    world.barrier();
    job.meet(7);
    if (world.rank() != 0) {
      job.meet(0);  // never comes to the barrier of PE 0
      return;
    }
    std::thread collective([&] { EXPECT_THROW(world.barrier(), Error); });
    world.launch<wait_for_nobody>({}, world.team(), flag.data());
    std::thread kernel([&] { seat.attempt([&] { world.synchronize(); }); });
    std::this_thread::sleep_for(20ms);  // the threads get to where they wait; not needed to pass
    seat.begin();
    world.abort("enough");
    collective.join();
    kernel.join();
    job.meet(0);
  });
  EXPECT_TRUE(job.threw(0, Code::aborted, 0));
  EXPECT_TRUE(job.took_between(0, {}, kReleaseBound));
}

TEST_P(Leaving, ByAnExceptionEndsTheOthersWaits) {
  const int actor = 0;
  FaultJob job(GetParam());
  job.run([&](World& world, Seat& seat) {
    auto flag = world.alloc_zeroed<Signal>(1);
    world.barrier();
    job.meet(7);
    seat.begin();
    if (world.rank() == actor) {
      world.launch<busy>({});  // so that leaving takes a moment, in which the others fail too
      throw std::runtime_error("boom");
    }
    if (world.rank() % 2 == 0) {
      world.launch<wait_for_nobody>({}, world.team(), flag.data());
      world.synchronize();
    }
    world.barrier();
  });
  for (int pe = 0; pe < job.pes(); ++pe) {
    if (pe == actor) continue;
    const Seat& seat = job.seat(pe);
    ASSERT_TRUE(seat.threw) << "PE " << pe;
    EXPECT_TRUE(seat.code == Code::aborted || seat.code == Code::peer_lost || seat.code == Code::peer_left)
        << seat.message;
    EXPECT_EQ(seat.peer, actor) << seat.message;
    EXPECT_TRUE(job.took_between(pe, {}, kReleaseBound));
  }
  if (GetParam().as == PesAs::threads) expect_rethrown(job.thread_failure(), "boom");
}

// It left in good order, and failed only then: threads of one process have no launcher to tell the others.
TEST_P(Leaving, AndFailingAfterwardsEndsTheOthersWaits) {
  if (GetParam().as != PesAs::threads) GTEST_SKIP() << "a process that fails later is the launcher's business";
  FaultJob job(GetParam());
  job.run([&](World& world, Seat& seat) {
    auto flag = world.alloc_zeroed<Signal>(1);
    world.barrier();
    job.meet(7);
    seat.begin();
    if (world.rank() == 0) {
      {
        World ends = std::move(world);
      }
      throw std::runtime_error("boom");
    }
    world.launch<wait_for_nobody>({}, world.team(), flag.data());
    world.synchronize();
  });
  for (int pe = 1; pe < job.pes(); ++pe) {
    EXPECT_TRUE(job.threw(pe, Code::aborted, 0));
    EXPECT_TRUE(job.took_between(pe, {}, kReleaseBound));
  }
  expect_rethrown(job.thread_failure(), "boom");
}

TEST_P(Leaving, NormallyEndsABarrierThatStillNeedsIt) {
  const int gone = GetParam().pes / 2;
  FaultJob job(GetParam());
  job.run([&](World& world, Seat& seat) {
    world.barrier();
    if (world.rank() == gone) {
      job.meet(0);
      return;
    }
    seat.begin();
    seat.attempt([&] {
      job.meet(0);
      world.barrier();
    });
  });
  EXPECT_TRUE(job.returned(gone));
  for (int pe = 0; pe < job.pes(); ++pe) {
    if (pe == gone) continue;
    EXPECT_TRUE(job.threw(pe, Code::peer_left, gone));
    EXPECT_NE(std::string(job.seat(pe).message).find("PE " + std::to_string(gone)), std::string::npos)
        << job.seat(pe).message;
    EXPECT_TRUE(job.took_between(pe, {}, kReleaseBound));
  }
}

// Its World is gone, its process is not.
TEST_P(Leaving, NormallyIsSeenThoughTheProcessLives) {
  const int gone = 0;
  FaultJob job(GetParam());
  job.run([&](World& world, Seat& seat) {
    world.barrier();
    if (world.rank() == gone) {
      {
        World ends = std::move(world);
      }
      job.meet(0);  // lives until the others have heard of it
      return;
    }
    seat.begin();
    seat.attempt([&] { world.barrier(); });
    job.meet(0);
  });
  for (int pe = 1; pe < job.pes(); ++pe) {
    EXPECT_TRUE(job.threw(pe, Code::peer_left, gone));
    EXPECT_TRUE(job.took_between(pe, {}, kReleaseBound));
  }
}

// A PE that left in peace is no reason to disturb those who do not need it.
TEST_P(Leaving, NormallyDoesNotDisturbATeamWithoutIt) {
  if (GetParam().pes < 3) GTEST_SKIP() << "needs two that stay";
  FaultJob job(GetParam());
  job.run([&](World& world, Seat& seat) {
    OwnedTeam rest = world.split_strided(world.team(), 1, 1, world.size() - 1);
    if (world.rank() == 0) {
      {
        World ends = std::move(world);
      }
      job.meet(0);
      return;
    }
    job.meet(0);
    for (int round = 0; round < 50; ++round) world.barrier(rest.team());
    EXPECT_EQ(world.status().code, Code::ok) << world.status().message;
    seat.words[0] = 1;
  });
  for (int pe = 0; pe < job.pes(); ++pe) EXPECT_TRUE(job.returned(pe));
}

// A PE that is alive but silent: the others give up at their deadline and name it.
TEST_P(Leaving, NeverButSilentIsATimeoutThatNamesIt) {
  const int silent = GetParam().pes - 1;
  const auto deadline = 500ms;
  const auto run = [&] {
    auto made = std::make_unique<FaultJob>(GetParam(), InitOptions{.wait_deadline = deadline});
    made->run([&](World& world, Seat& seat) {
      world.barrier();
      seat.begin();
      if (world.rank() != silent) seat.attempt([&] { world.barrier(); });
      made->meet(0);
    });
    return made;
  };
  const auto ran = testing::until_on_time(run, [&](const FaultJob& made) { return made.on_time(deadline * 12 / 10); });
  FaultJob& job = *ran;
  for (int pe = 0; pe < job.pes(); ++pe) {
    if (pe == silent) continue;
    EXPECT_TRUE(job.threw(pe, Code::timeout, silent));
    EXPECT_TRUE(job.took_between(pe, deadline * 9 / 10, deadline * 12 / 10));
    const std::string message = job.seat(pe).message;
    EXPECT_NE(message.find("PE " + std::to_string(silent)), std::string::npos) << message;
    EXPECT_NE(message.find("leaving_test.cpp:"), std::string::npos) << "the call is not in: " << message;
    EXPECT_NE(message.find("ISOTOPE_WAIT_DEADLINE"), std::string::npos) << "what to do is missing: " << message;
  }
}

// Late, but within the deadline: no fault at all.
TEST_P(Leaving, LateButInTimeIsFine) {
  FaultJob job(GetParam(), {.wait_deadline = 5s});
  job.run([&](World& world, Seat&) {
    world.barrier();
    if (world.rank() == 0) std::this_thread::sleep_for(300ms);
    world.barrier();
  });
  for (int pe = 0; pe < job.pes(); ++pe) EXPECT_TRUE(job.returned(pe));
}

}  // namespace
}  // namespace isotope
