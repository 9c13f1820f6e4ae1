// A signal never arrives: the wait ends at its deadline, in release builds, the error says everything, and the World
// goes on. Rows 23 and 25 of the matrix.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "support/fault_job.hpp"

namespace isotope {
namespace {

using namespace std::chrono_literals;
using testing::FaultJob;
using testing::has_number;
using testing::Seat;

constexpr std::chrono::nanoseconds kDeadline = 500ms;
constexpr std::chrono::nanoseconds kEarliest = 450ms, kLatest = 600ms;
constexpr std::uint64_t kExpected = 471108, kFound = 230815;

class SignalDeadline : public ::testing::TestWithParam<testing::FaultShape> {
 protected:
  std::unique_ptr<FaultJob> run_on_time(const std::function<void(FaultJob&, World&, Seat&)>& body) {
    return testing::until_on_time(
        [&] {
          auto job = std::make_unique<FaultJob>(GetParam(), InitOptions{.wait_deadline = kDeadline});
          job->run([&](World& world, Seat& seat) { body(*job, world, seat); });
          return job;
        },
        [](const FaultJob& job) { return job.on_time(kLatest); });
  }
};
INSTANTIATE_TEST_SUITE_P(All, SignalDeadline, ::testing::ValuesIn(testing::unwatched_shapes()),
                         testing::fault_shape_name);

constexpr int kWaitLine = __LINE__ + 2;
ISOTOPE_KERNEL void wait_from(Team team, Signal* flag, int from) {
  wait_until(this_block(), team, flag, Cmp::ge, kExpected, Order::acquire, from);
}

// Sends its rank to the right, and adds one when the left one's has come.
ISOTOPE_KERNEL void ring(Team team, Span<int> out, Span<const int> in, Epoch arrived) {
  auto block = this_block();
  const std::uint64_t round = arrived.next(block);
  put_signal(block, team, out, in, arrived.signal(), 1, SignalOp::add, (team.rank() + 1) % team.size());
  if (wait_until(block, team, arrived.signal(), Cmp::ge, round) && block.is_leader()) ++out[0];
}

void expect_ring_works(World& world) {
  auto in = world.alloc<int>(64), out = world.alloc<int>(64);
  auto arrived = world.alloc_epoch();
  for (int& x : in) x = world.rank();
  world.barrier();
  for (int round = 0; round < 3; ++round) {
    world.launch<ring>({.block = 8}, world.team(), out.span(), in.span(), arrived.get());
    EXPECT_NO_THROW(world.synchronize());
    EXPECT_EQ(out[0], (world.rank() + world.size() - 1) % world.size() + 1);
    world.barrier();
  }
}

void expect_report(const Seat& seat, int pe, int from) {
  ASSERT_TRUE(seat.threw) << "PE " << pe;
  const std::string message = seat.message;
  EXPECT_EQ(seat.code, Code::timeout) << message;
  EXPECT_EQ(seat.error_pe, pe) << message;
  EXPECT_EQ(seat.peer, from) << message;
  EXPECT_EQ(seat.line, kWaitLine) << message;
  EXPECT_NE(std::string(seat.file).find("signal_deadline_test.cpp"), std::string::npos) << seat.file;
  EXPECT_NE(message.find("signal_deadline_test.cpp:" + std::to_string(kWaitLine)), std::string::npos) << message;
  EXPECT_NE(message.find("wait_until"), std::string::npos) << message;
  EXPECT_TRUE(has_number(message, kExpected)) << message;
  EXPECT_TRUE(has_number(message, kFound)) << message;
  EXPECT_NE(message.find("ISOTOPE_WAIT_DEADLINE"), std::string::npos) << "what to do is missing: " << message;
  if (from != kNoPe) {
    EXPECT_NE(message.find("PE " + std::to_string(from)), std::string::npos) << message;
  }
}

TEST_P(SignalDeadline, EndsTheWaitAndTellsAll) {
  const auto ran = run_on_time([](FaultJob& job, World& world, Seat& seat) {
    auto flags = world.alloc_zeroed<Signal>(9);
    flags[5].value = kFound;
    world.barrier();
    const int from = (world.rank() + 1) % world.size();
    seat.begin();
    world.launch<wait_from>({.block = 4}, world.team(), &flags[5], from);
    seat.attempt([&] { world.synchronize(); });
    job.meet(0);
    EXPECT_EQ(world.status().code, Code::ok) << "it was reported: " << world.status().message;
    expect_ring_works(world);
  });
  FaultJob& job = *ran;
  for (int pe = 0; pe < job.pes(); ++pe) {
    expect_report(job.seat(pe), pe, (pe + 1) % job.pes());
    // Which object: its size, and where in it the signal lies.
    const std::string message = job.seat(pe).message;
    EXPECT_NE(message.find("symmetric object"), std::string::npos) << message;
    EXPECT_TRUE(has_number(message, 9 * sizeof(Signal)) && has_number(message, 5 * sizeof(Signal))) << message;
    EXPECT_TRUE(job.took_between(pe, kEarliest, kLatest));
  }
}

// One PE's wait fails; the others have nothing to do with it, and never hear of it.
TEST_P(SignalDeadline, OfOnePeShowsInItsStatusAlone) {
  const auto ran = run_on_time([](FaultJob& job, World& world, Seat& seat) {
    auto flag = world.alloc_zeroed<Signal>(1);
    flag[0].value = kFound;
    world.barrier();
    seat.begin();
    if (world.rank() == 0) {
      world.launch<wait_from>({}, world.team(), flag.data(), kNoPe);
      Status status;
      const std::uint64_t until = testing::now_ns() + 5'000'000'000u;
      while ((status = world.status()).code == Code::ok && testing::now_ns() < until) ::usleep(200);
      EXPECT_EQ(status.code, Code::timeout) << status.message;
      seat.attempt([&] { world.synchronize(); });
      EXPECT_EQ(status.message, seat.message) << "status() and synchronize() tell different stories";
      EXPECT_EQ(status.peer, seat.peer);
    }
    job.meet(0);
    EXPECT_EQ(world.status().code, Code::ok) << world.status().message;
    EXPECT_NO_THROW(world.synchronize()) << "a failure is thrown once";
    expect_ring_works(world);
  });
  FaultJob& job = *ran;
  expect_report(job.seat(0), 0, kNoPe);
  EXPECT_TRUE(job.took_between(0, kEarliest, kLatest));
  for (int pe = 1; pe < job.pes(); ++pe) EXPECT_TRUE(job.returned(pe));
}

// Ignores that its wait gave up, and goes on as if the data had come.
ISOTOPE_KERNEL void careless(Team team, Signal* flag, Span<int> canary, Span<const int> garbage, Signal* gone_on,
                             int to) {
  auto block = this_block();
  wait_until(block, team, flag, Cmp::ge, 1);
  put(block, team, canary, garbage, to);
  put_signal(block, team, canary, garbage, gone_on, 1, SignalOp::add, to);
  signal(block, team, gone_on, 1, SignalOp::add, to);
  signal(this_thread(), team, gone_on, 77, SignalOp::set, to);
  wait_until(block, team, flag, Cmp::ge, 2);  // a second wait returns at once: see the time
}

TEST_P(SignalDeadline, LetsNothingOutAfterwards) {
  const auto ran = run_on_time([](FaultJob& job, World& world, Seat& seat) {
    auto flag = world.alloc_zeroed<Signal>(1);
    auto gone_on = world.alloc_zeroed<Signal>(1);
    auto canary = world.alloc_zeroed<int>(512);
    auto garbage = world.alloc<int>(512);
    for (int& x : garbage) x = -1;
    const int to = (world.rank() + 1) % world.size();
    world.barrier();
    seat.begin();
    world.launch<careless>({.block = 16}, world.team(), flag.data(), canary.span(), garbage.span(), gone_on.data(), to);
    seat.attempt([&] { world.synchronize(); });
    job.meet(0);
    EXPECT_EQ(signal_fetch(gone_on.data()), 0u) << "a signal left a PE whose wait had given up";
    for (int x : canary) ASSERT_EQ(x, 0) << "data left a PE whose wait had given up";
    job.meet(1);
    // The same kernel, once its wait is met, does reach the peer: the canary would have sung.
    flag[0].value = 2;
    world.launch<careless>({.block = 16}, world.team(), flag.data(), canary.span(), garbage.span(), gone_on.data(), to);
    EXPECT_NO_THROW(world.synchronize());
    job.meet(2);
    EXPECT_NE(signal_fetch(gone_on.data()), 0u);
    EXPECT_EQ(canary[511], -1);
    world.barrier();
  });
  FaultJob& job = *ran;
  for (int pe = 0; pe < job.pes(); ++pe) {
    ASSERT_TRUE(job.seat(pe).threw);
    EXPECT_EQ(job.seat(pe).code, Code::timeout) << job.seat(pe).message;
    EXPECT_TRUE(job.took_between(pe, kEarliest, kLatest));
  }
}

// Work that comes later, but before the host has been told, sends nothing either: it builds on what never came.
ISOTOPE_KERNEL void send(Team team, Span<int> canary, Span<const int> garbage, Signal* gone_on, int to) {
  put_signal(this_block(), team, canary, garbage, gone_on, 1, SignalOp::add, to);
}

TEST_P(SignalDeadline, LetsNothingOutUntilTheHostIsTold) {
  FaultJob job(GetParam(), {.wait_deadline = 100ms});
  job.run([&](World& world, Seat& seat) {
    auto flag = world.alloc_zeroed<Signal>(1);
    auto gone_on = world.alloc_zeroed<Signal>(1);
    auto canary = world.alloc_zeroed<int>(64);
    auto garbage = world.alloc<int>(64);
    for (int& x : garbage) x = -1;
    const int to = (world.rank() + 1) % world.size();
    world.barrier();
    world.launch<wait_from>({}, world.team(), flag.data(), kNoPe);
    while (!world.stream().idle()) ::usleep(200);
    EXPECT_EQ(world.status().code, Code::timeout) << world.status().message;
    world.launch<send>({}, world.team(), canary.span(), garbage.span(), gone_on.data(), to);
    Stream other = world.create_stream();
    world.launch<send>({.stream = other}, world.team(), canary.span(), garbage.span(), gone_on.data(), to);
    while (!world.stream().idle() || !other.idle()) ::usleep(200);
    seat.attempt([&] { world.synchronize(); });
    job.meet(0);
    EXPECT_EQ(signal_fetch(gone_on.data()), 0u);
    EXPECT_EQ(canary[0], 0);
    job.meet(1);
    world.launch<send>({}, world.team(), canary.span(), garbage.span(), gone_on.data(), to);
    EXPECT_NO_THROW(world.synchronize());
    job.meet(2);
    EXPECT_EQ(signal_fetch(gone_on.data()), 1u);
    world.barrier();
  });
  for (int pe = 0; pe < job.pes(); ++pe) {
    ASSERT_TRUE(job.seat(pe).threw);
    EXPECT_EQ(job.seat(pe).code, Code::timeout) << job.seat(pe).message;
  }
}

// The same when the job was aborted under the wait.
TEST_P(SignalDeadline, LetsNothingOutAfterAnAbort) {
  FaultJob job(GetParam());
  job.run([&](World& world, Seat& seat) {
    auto flag = world.alloc_zeroed<Signal>(1);
    auto gone_on = world.alloc_zeroed<Signal>(1);
    auto canary = world.alloc_zeroed<int>(512);
    auto garbage = world.alloc<int>(512);
    for (int& x : garbage) x = -1;
    world.barrier();
    world.launch<careless>({.block = 16}, world.team(), flag.data(), canary.span(), garbage.span(), gone_on.data(),
                           (world.rank() + 1) % world.size());
    job.meet(0);
    seat.begin();
    if (world.rank() == 0) world.abort("enough");
    seat.attempt([&] { world.synchronize(); });
    job.meet(1);
    EXPECT_EQ(signal_fetch(gone_on.data()), 0u);
    for (int x : canary) ASSERT_EQ(x, 0);
    job.meet(2);
  });
  for (int pe = 0; pe < job.pes(); ++pe) {
    EXPECT_TRUE(job.threw(pe, Code::aborted, 0));
    EXPECT_TRUE(job.took_between(pe, {}, testing::kReleaseBound));
  }
}

}  // namespace
}  // namespace isotope
