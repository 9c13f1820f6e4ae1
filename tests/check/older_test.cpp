// Loads that see older values: every outcome that the memory model allows can happen, and none that it forbids. Kernels
// say what must hold by assert(); an exhaustive search that finds nothing has seen every outcome.
#include <gtest/gtest.h>
#include <isotope/host/check.hpp>
#include <isotope/isotope.hpp>

#include <string>

#undef NDEBUG
#include <cassert>

namespace {

using namespace isotope;

enum class Fence { none, release_acquire, seq_cst };

/// Store buffering: each PE says something and looks at what the other one has said.
template <Fence F>
ISOTOPE_KERNEL void say_and_look(Team team, std::uint64_t* said, std::uint64_t* seen) {
  const int other = 1 - team.rank();
  store(said, 1);
  if constexpr (F == Fence::release_acquire) fence(Order::acq_rel);
  if constexpr (F == Fence::seq_cst) fence(Order::seq_cst);
  *team.at(&seen[team.rank()], 0) = load(team.at(said, other));
}

template <Fence F>
void both_look() {
  World world = init();
  auto said = world.alloc_zeroed<std::uint64_t>(1), seen = world.alloc_zeroed<std::uint64_t>(2);
  world.launch<say_and_look<F>>({}, world.team(), said.data(), seen.data());
  world.synchronize();
  world.barrier();
  if (world.rank() == 0) assert(seen[0] + seen[1] != 0);
}

/// One word's values are seen in the order in which they were stored.
ISOTOPE_KERNEL void never_back(Team team, std::uint64_t* word, std::uint64_t* other) {
  if (team.rank() == 0) {
    store(team.at(word, 1), 1);
    store(team.at(other, 1), 1);
    store(team.at(word, 1), 2);
  } else {
    const std::uint64_t first = load(word);
    load(other);
    assert(load(word) >= first);
  }
}

/// What a thread has seen, whoever it tells cannot miss. PE 1 reads relaxed: it is not told by PE 0.
ISOTOPE_KERNEL void pass_on(Team team, std::uint64_t* word, std::uint64_t* flag) {
  if (team.rank() == 0) {
    store(team.at(word, 2), 1);
  } else if (team.rank() == 1) {
    if (load(team.at(word, 2)) == 1) store(team.at(flag, 2), 1, Order::release);
  } else if (load(flag, Order::acquire) == 1) {
    assert(load(word) == 1);
  }
}

template <auto Kernel>
void two_words() {
  World world = init();
  auto one = world.alloc_zeroed<std::uint64_t>(1), two = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<Kernel>({}, world.team(), one.data(), two.data());
  world.synchronize();
}

/// A block's leader has seen the flag and tells the block; nobody has acquired anything.
template <Order O>
ISOTOPE_KERNEL void tell_the_block(Team team, std::uint64_t* value, std::uint64_t* flag) {
  const Block block = this_block();
  if (team.rank() == 0) {
    if (!block.is_leader()) return;
    store(team.at(value, 1), 7);
    store(team.at(flag, 1), 1, Order::release);
  } else {
    if (block.is_leader()) {
      while (load(flag, O) == 0) {
      }
    }
    block.sync();
    if (!block.is_leader()) assert(load(value) == 7);
  }
}

template <Order O>
void told_block() {
  World world = init();
  auto value = world.alloc_zeroed<std::uint64_t>(1), flag = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<tell_the_block<O>>({.block = 2}, world.team(), value.data(), flag.data());
  world.synchronize();
}

CheckResult search(int pes, void (*program)()) {
  return run_checked({.pes = pes, .schedules = 50'000, .strategy = CheckStrategy::exhaustive}, program);
}

void expect_possible(int pes, void (*program)()) {
  EXPECT_EQ(search(pes, program).verdict, "assertion failed");
  for (const CheckStrategy strategy : {CheckStrategy::random, CheckStrategy::pct})
    EXPECT_EQ(run_checked({.pes = pes, .schedules = 1000, .strategy = strategy}, program).verdict, "assertion failed");
}

/// Whoever reads of a wrong result is told which load saw what, and who stored the value that it did not see.
TEST(Older, IsNamedInTheReport) {
  const std::string report = search(2, &told_block<Order::relaxed>).report;
  EXPECT_NE(report.find("thread 1 of kernel tell_the_block"), std::string::npos) << report;
  EXPECT_NE(report.find("saw 0 at older_test.cpp:"), std::string::npos) << report;
  EXPECT_NE(report.find("not 7, stored at older_test.cpp:"), std::string::npos) << report;
}

void expect_impossible(int pes, void (*program)()) {
  const CheckResult all = search(pes, program);
  EXPECT_FALSE(all.found) << all.report;
  EXPECT_TRUE(all.complete) << all.schedules << " orders were not enough";
  const CheckResult some = run_checked({.pes = pes, .schedules = 300}, program);
  EXPECT_FALSE(some.found) << some.report;
}

TEST(Older, BothMissTheOther) { expect_possible(2, &both_look<Fence::none>); }
TEST(Older, BothMissTheOtherInSpiteOfAcquireAndRelease) { expect_possible(2, &both_look<Fence::release_acquire>); }
TEST(Older, SequentiallyConsistentFencesForbidIt) { expect_impossible(2, &both_look<Fence::seq_cst>); }
TEST(Older, OneWordNeverGoesBack) { expect_impossible(2, &two_words<never_back>); }
TEST(Older, WhatWasSeenIsPassedOn) { expect_impossible(3, &two_words<pass_on>); }
TEST(Older, ASyncOfTheBlockAcquiresNothingFromAPeer) { expect_possible(2, &told_block<Order::relaxed>); }
TEST(Older, ASyncOfTheBlockPassesOnWhatWasAcquired) { expect_impossible(2, &told_block<Order::acquire>); }

}  // namespace
