// A PE forks after init(): the child is no PE and is told so, and the parent stays one. And a World used from other
// threads.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "support/fault_job.hpp"

namespace isotope {
namespace {

using namespace std::chrono_literals;
using testing::FaultJob;
using testing::PesAs;
using testing::Seat;

class Fork : public ::testing::TestWithParam<testing::FaultShape> {};
INSTANTIATE_TEST_SUITE_P(All, Fork, ::testing::ValuesIn(testing::process_shapes()), testing::fault_shape_name);

class UseFromThreads : public ::testing::TestWithParam<testing::FaultShape> {};
INSTANTIATE_TEST_SUITE_P(All, UseFromThreads, ::testing::ValuesIn(testing::all_shapes()), testing::fault_shape_name);

ISOTOPE_KERNEL void add_one(Team, Span<std::uint64_t> x) { fetch_add(x.data(), 1u); }

template <class F>
bool is_forked_error(const F& fn) {
  try {
    fn();
  } catch (const Error& error) {
    if (error.code() == Code::forked) return true;
    ADD_FAILURE() << "wrong code: " << error.what();
    return false;
  }
  ADD_FAILURE() << "the call went through";
  return false;
}

/// Runs `fn` in a forked child; its exit status is 0 when `fn` saw no test fail.
template <class F>
pid_t in_child(const F& fn) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(10);
  fn();
  std::fflush(nullptr);
  std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
}

int wait_for(pid_t child) {
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST_P(Fork, ChildIsRefusedAndParentGoesOn) {
  FaultJob job(GetParam());
  job.run([&](World& world, Seat&) {
    auto x = world.alloc_zeroed<std::uint64_t>(8);
    auto counter = world.alloc_zeroed<std::uint64_t>(8);
    Stream stream = world.create_stream();
    world.launch<add_one>({}, world.team(), counter.span());
    world.synchronize();
    const pid_t child = in_child([&] {
      is_forked_error([&] { world.barrier(); });
      is_forked_error([&] { (void)world.alloc<int>(10); });
      is_forked_error([&] { world.free(x); });
      is_forked_error([&] { world.launch<add_one>({}, world.team(), counter.span()); });
      is_forked_error([&] { world.synchronize(); });
      is_forked_error([&] { (void)world.create_stream(); });
      is_forked_error([&] { (void)world.split_list(world.team(), {0}); });
      is_forked_error([&] { world.abort("from a child"); });
    });
    EXPECT_EQ(wait_for(child), 0);
    for (int round = 0; round < 20; ++round) world.barrier();
    world.launch<add_one>({.stream = stream}, world.team(), counter.span());
    world.synchronize();
    EXPECT_EQ(counter[0], 2u);
    world.free(x);
    EXPECT_EQ(world.status().code, Code::ok) << world.status().message;
    world.barrier();
  });
  for (int pe = 0; pe < job.pes(); ++pe) EXPECT_TRUE(job.returned(pe));
}

// The child runs the destructors of everything it inherited, by return or by exception; nobody else notices.
TEST_P(Fork, ChildThatUnwindsHarmsNobody) {
  FaultJob job(GetParam());
  job.run([&](World& world, Seat&) {
    auto x = world.alloc_zeroed<int>(8);
    world.barrier();
    for (const bool by_exception : {false, true}) {
      const pid_t child = in_child([&] {
        try {
          World mine = std::move(world);
          auto object = std::move(x);
          if (by_exception) throw 1;
        } catch (int) {
        }
      });
      EXPECT_EQ(wait_for(child), 0);
    }
    for (int round = 0; round < 20; ++round) world.barrier();
    auto y = world.alloc_zeroed<int>(8);
    EXPECT_EQ(world.status().code, Code::ok) << world.status().message;
    world.barrier();
  });
  for (int pe = 0; pe < job.pes(); ++pe) EXPECT_TRUE(job.returned(pe));
}

// A child that outlives the job, as a daemon would, keeps nobody waiting.
TEST_P(Fork, ChildThatOutlivesTheJobHoldsNobodyUp) {
  FaultJob job(GetParam());
  const std::uint64_t began = testing::now_ns();
  job.run([&](World& world, Seat& seat) {
    if (world.rank() == 0) {
      const pid_t child = in_child([] { ::usleep(4'000'000); });
      seat.words[0] = static_cast<std::uint64_t>(child);
    }
    world.barrier();
  });
  for (int pe = 0; pe < job.pes(); ++pe) EXPECT_TRUE(job.returned(pe));
  EXPECT_LE(testing::now_ns() - began, std::uint64_t{3'000'000'000} * testing::kSlow);
  ::kill(static_cast<pid_t>(job.seat(0).words[0]), SIGKILL);
  EXPECT_TRUE(testing::no_process_left());
}

TEST_P(UseFromThreads, CollectivesRunOnAnyThread) {
  FaultJob job(GetParam());
  job.run([&](World& world, Seat& seat) {
    Symmetric<int> x;
    std::thread([&] { x = world.alloc_zeroed<int>(64); }).join();
    std::thread([&] {
      *world.team().at(x.data(), (world.rank() + 1) % world.size()) = 7;
      world.barrier();
    }).join();
    EXPECT_EQ(x[0], 7);
    std::thread([&] { world.free(x); }).join();
    std::thread([&] { seat.attempt([&] { (void)world.alloc<int>(world.rank() == 0 ? 1 : 2); }); }).join();
    world.barrier();
  });
  for (int pe = 0; pe < job.pes(); ++pe) {
    ASSERT_TRUE(job.seat(pe).threw);
    EXPECT_EQ(job.seat(pe).code, Code::mismatch) << job.seat(pe).message;
  }
}

TEST_P(UseFromThreads, LaunchesRunBesideACollective) {
  FaultJob job(GetParam());
  job.run([&](World& world, Seat&) {
    auto counter = world.alloc_zeroed<std::uint64_t>(8);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        Stream stream = world.create_stream();
        for (int k = 0; k < 50; ++k) world.launch<add_one>({.stream = stream}, world.team(), counter.span());
        stream.synchronize();
      });
    }
    for (int round = 0; round < 20; ++round) world.barrier();
    for (std::thread& thread : threads) thread.join();
    world.synchronize();
    EXPECT_EQ(load(counter.data()), 150u);
    world.barrier();
  });
  for (int pe = 0; pe < job.pes(); ++pe) EXPECT_TRUE(job.returned(pe));
}

}  // namespace
}  // namespace isotope
