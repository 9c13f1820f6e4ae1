// The checker itself: the same seed gives the same run, exhaustive search tries every order and finds what is wrong,
// and what a program does under it is what it does without.
#include <gtest/gtest.h>
#include <isotope/host/check.hpp>
#include <isotope/isotope.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

namespace {

using namespace isotope;

/// Two PEs, two rounds of a barrier with one flag each that counts up; broken: set to 1, waited for and set back.
template <bool Broken>
ISOTOPE_KERNEL void epoch_barrier(Team team, std::uint64_t* flag, int* data) {
  for (std::uint64_t round = 1; round <= 2; ++round) {
    store(team.at(flag, 1 - team.rank()), Broken ? 1 : round, Order::release);
    if (!wait_until(this_thread(), team, flag, Cmp::ge, Broken ? 1 : round)) return;
    if constexpr (Broken) store(flag, 0);
  }
  data[0] = 1;
}

template <bool Broken>
ISOTOPE_KERNEL void message(Team team, Span<int> to, Span<int> from, Signal* flag) {
  const Thread self = this_thread();
  if (team.rank() == 0) {
    if constexpr (Broken) {
      put_nbi(self, team, to, from, 1);
      signal(self, team, flag, 1, SignalOp::set, 1);
    } else {
      put_signal(self, team, to, from, flag, 1, SignalOp::set, 1);
    }
  } else if (wait_until(self, team, flag, Cmp::ge, 1)) {
    to[0] += 1;
  }
}

/// One value to the other PE, two rounds: each value is its own flag, in slots of its own, cleared by the receiver.
/// Broken: both rounds use one slot, so that the second value may come before the first was cleared.
template <bool Broken>
ISOTOPE_KERNEL void lamport_sum(Team team, std::uint64_t* slots, std::uint64_t* sum) {
  for (std::uint64_t round = 0; round < 2; ++round) {
    std::uint64_t* slot = &slots[Broken ? 0 : round];
    store(team.at(slot, 1 - team.rank()), round + 1);
    std::uint64_t value = 0;
    while ((value = load(slot)) == 0) {
    }
    store(slot, 0);
    *sum += value;
  }
}

template <bool Broken>
void run_barrier() {
  World world = init();
  auto flag = world.alloc_zeroed<std::uint64_t>(1);
  auto data = world.alloc_zeroed<int>(1);
  world.launch<epoch_barrier<Broken>>({}, world.team(), flag.data(), data.data());
  world.synchronize();
}

template <bool Broken>
void run_message() {
  World world = init();
  auto to = world.alloc_zeroed<int>(2), from = world.alloc_zeroed<int>(2);
  auto flag = world.alloc_zeroed<Signal>(1);
  world.launch<message<Broken>>({}, world.team(), to.span(), from.span(), flag.data());
  world.synchronize();
}

template <bool Broken>
void run_lamport() {
  World world = init();
  auto slots = world.alloc_zeroed<std::uint64_t>(2), sum = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<lamport_sum<Broken>>({}, world.team(), slots.data(), sum.data());
  world.synchronize();
  if (sum[0] != 3) throw Error(Code::internal, "the sum is wrong");
}

void expect_proved(const char* what, void (*good)(), void (*bad)(), const std::string& kind) {
  const CheckOptions options{.pes = 2, .schedules = 20'000, .strategy = CheckStrategy::exhaustive};
  const CheckResult all = run_checked(options, good);
  EXPECT_FALSE(all.found) << all.report;
  EXPECT_TRUE(all.complete) << what << ": " << all.schedules << " orders were not enough";
  EXPECT_GT(all.schedules, 1u) << "one order is no search";
  const CheckResult broken = run_checked(options, bad);
  EXPECT_TRUE(broken.found) << what << ": nothing found in " << broken.schedules << " orders";
  EXPECT_EQ(broken.kind, kind) << broken.report;
  std::printf("%s: %llu orders, %llu steps, complete; broken: found after %llu\n", what,
              static_cast<unsigned long long>(all.schedules), static_cast<unsigned long long>(all.steps),
              static_cast<unsigned long long>(broken.schedules));
}

TEST(Exhaustive, EpochBarrier) { expect_proved("epoch barrier", &run_barrier<false>, &run_barrier<true>, "deadlock"); }
TEST(Exhaustive, PutSignal) { expect_proved("put_signal", &run_message<false>, &run_message<true>, "race"); }
TEST(Exhaustive, Lamport) { expect_proved("Lamport", &run_lamport<false>, &run_lamport<true>, "deadlock"); }

TEST(Seeds, SameSeedSameRun) {
  for (const CheckStrategy strategy : {CheckStrategy::random, CheckStrategy::pct}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const CheckOptions options{.pes = 2, .seed = seed, .strategy = strategy};
      const CheckResult first = run_checked(options, &run_message<true>),
                        again = run_checked(options, &run_message<true>);
      EXPECT_EQ(first.report, again.report);
      EXPECT_EQ(first.steps, again.steps);
    }
  }
}

TEST(Seeds, DifferentSeedsDifferentRuns) {
  std::set<std::uint64_t> steps;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    steps.insert(run_checked({.pes = 2, .seed = seed}, &run_lamport<false>).steps);
  EXPECT_GT(steps.size(), 1u);
}

/// Most calls of the library in one kernel that has no bug.
ISOTOPE_KERNEL void many_calls(Team team, Span<int> data, Epoch epoch, std::uint64_t* counter) {
  const Block block = this_block();
  const int right = (team.rank() + 1) % team.size();
  ISOTOPE_SHARED(int[4], tile);
  tile[block.thread_rank()] = 1;
  block.sync();
  int sum = tile[(block.thread_rank() + 1) % block.size()];
  sum += this_warp().shuffle_xor(sum, 1);
  for (int turn = 0; turn < 2; ++turn) {
    if (block.rank() == 0) {
      const std::uint64_t round = epoch.next(block);
      put_signal(block, team, data.subspan(1, 1), data.subspan(0, 1), epoch.signal(), 1, SignalOp::add, right);
      if (!wait_until(block, team, epoch.signal(), Cmp::ge, round)) return;
    }
    if (!grid_sync(team)) return;
    atomic_add(team, counter, static_cast<std::uint64_t>(sum), 0);
    if (!barrier(block, team, static_cast<int>(block.rank()))) return;
  }
  put_nbi(block, team, data.subspan(2 + block.rank(), 1), data.subspan(0, 1), right);
  quiet(block, team);
  barrier(block, team, static_cast<int>(block.rank()));
}

TEST(Clean, MostCallsOfTheLibrary) {
  for (const int pes : {2, 3, 4}) {
    for (const CheckStrategy strategy : {CheckStrategy::random, CheckStrategy::pct}) {
      const CheckResult result = run_checked({.pes = pes, .schedules = 30, .strategy = strategy}, [pes] {
        World world = init();
        auto data = world.alloc_zeroed<int>(4);
        auto epoch = world.alloc_epoch();
        auto counter = world.alloc_zeroed<std::uint64_t>(1);
        data[0] = 5;
        world.barrier();
        world.launch<many_calls>({.grid = 2, .block = 4}, world.team(), data.span(), epoch.get(), counter.data());
        world.synchronize();
        world.barrier();
        // 2 blocks of 4 threads add 2 each, twice.
        if (world.rank() == 0 && counter[0] != static_cast<std::uint64_t>(32 * pes))
          throw Error(Code::internal, "lost adds");
        if (data[1] != 5 || data[2] != 5 || data[3] != 5) throw Error(Code::internal, "lost puts");
      });
      EXPECT_FALSE(result.found) << pes << " PEs, seed " << result.seed << ": " << result.report;
    }
  }
}

/// Copies and fills of a size that the compiler knows, or can bound, which it would rather make of instructions.
ISOTOPE_KERNEL void copies(Team team, char* to, const char* from, std::size_t some, bool races) {
  if (team.rank() != 0 && !races) return;
  char* there = team.at(to, 1);
  std::memcpy(there, from, 100);
  std::memset(there + 100, 3, 50);
  if (some < 200) std::memcpy(there + 150, from, some);
}

void run_copies(bool races) {
  World world = init();
  auto to = world.alloc<char>(400), from = world.alloc_zeroed<char>(400);
  world.barrier();
  world.launch<copies>({}, world.team(), to.data(), from.data(), std::size_t{120}, races);
  world.synchronize();
  world.barrier();
  int sum = 0;
  if (world.rank() == 1)
    for (std::size_t i = 0; i < 270; ++i) sum += to[i];  // a finding, where a write was not seen
  if (world.rank() == 1 && sum != 150) std::abort();
}

TEST(Copies, OfEverySizeAreSeen) {
  const CheckResult good = run_checked({.pes = 2, .schedules = 3}, [] { run_copies(false); });
  EXPECT_FALSE(good.found) << good.report;
  const CheckResult broken = run_checked({.pes = 2, .schedules = 3}, [] { run_copies(true); });
  EXPECT_EQ(broken.kind, "race") << broken.report;
}

TEST(Crash, IsAFinding) {
  const CheckResult result = run_checked({.pes = 1}, [] {
    World world = init();
    volatile int* nowhere = nullptr;
    *nowhere = 1;
  });
  EXPECT_TRUE(result.found);
  EXPECT_EQ(result.kind, "crash");
  EXPECT_NE(result.report.find("PE 0"), std::string::npos) << result.report;
}

TEST(Options, BadOnesAreRefused) {
  EXPECT_THROW(run_checked({.pes = 0}, [] {}), Error);
}

}  // namespace
