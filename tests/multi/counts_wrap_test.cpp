// Counts that come round. An Ll8 packet's flag is the lower half of its round, and a grid's syncs are counted in the
// upper half of a word: after 2^32 of them what was there before must not pass for what is to come. The counts are set
// here to what they would be; this takes host code that reaches kernels' words, so it is for the CPU alone.
#include <chrono>
#include <thread>
#include <vector>

#include "support/job_shape.hpp"

namespace isotope {
namespace {

class CountsWrap : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CountsWrap);

constexpr std::uint64_t kRoundsUntilWrap = std::uint64_t{1} << 32;
constexpr std::size_t kMost = 400;  // elements of a call: less than one slot

/// Each thread looks at words of its own, so one that finds an old packet goes on while others wait.
ISOTOPE_KERNEL void call_by_ll8(Team team, Workspace workspace, Collective collective, float* dst, const float* src,
                                std::size_t n) {
  constexpr Accumulate kWide = Accumulate::wide;
  const Block block = this_block();
  const Channel channel = workspace.channel(0);
  if (collective == Collective::all_reduce) {
    all_reduce<ReduceOp::add, kWide, Algo::ll8>(block, team, channel, dst, src, n);
  } else if (collective == Collective::reduce_scatter) {
    reduce_scatter<ReduceOp::add, kWide, Algo::ll8>(block, team, channel, dst, src, n);
  } else if (collective == Collective::all_gather) {
    all_gather<Algo::ll8>(block, team, channel, dst, src, n);
  } else {
    all_to_all<Algo::ll8>(block, team, channel, dst, src, n);
  }
}

/// Calls by ll8 on one channel, at any round.
struct Calls {
  explicit Calls(World& w)
      : world(w),
        coll(w, {.channels = 1, .slot_bytes = 1920}),
        dst(w.alloc<float>(kMost * static_cast<std::size_t>(w.size()))),
        src(w.alloc<float>(dst.size())) {}

  void go_on_from(std::uint64_t round) {
    world.barrier();
    coll.workspace().channel(0).words()->rounds = round - 1;
    world.barrier();
  }
  /// All but PE 0 come late, so that it looks at what is there before.
  void expect_right(Collective collective, std::size_t count, float value) {
    src.write(std::vector<float>(src.size(), value * static_cast<float>(world.rank() + 1)));
    dst.write(std::vector<float>(dst.size(), -1));
    world.barrier();
    if (world.rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    world.launch<call_by_ll8>({.block = 8}, world.team(), coll.workspace(), collective, dst.data(), src.data(), count);
    world.synchronize();
    const int members = world.size();
    std::vector<float> expected(dst.size(), -1);
    for (std::size_t i = 0; i < output_of(collective, count); ++i) {
      expected[i] = combines(collective) ? value * static_cast<float>(members * (members + 1) / 2)
                                         : value * static_cast<float>(i / count + 1);
    }
    ASSERT_EQ(dst.read(), expected) << name_of(collective) << " of " << count << " after round "
                                    << coll.workspace().channel(0).words()->rounds;
  }
  std::size_t output_of(Collective collective, std::size_t count) const {
    return detail::elements_of(collective, count, world.size()).dst;
  }

  World& world;
  Collectives coll;
  Symmetric<float> dst, src;
};

constexpr Collective kByLl8[] = {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
                                 Collective::all_to_all};

// What was sent 2^32 rounds ago, and lies there still.
TEST_P(CountsWrap, OldPacketsAreNotTaken) {
  run([](World& world) {
    if (world.size() == 1) return;
    for (const Collective collective : kByLl8) {
      Calls calls(world);
      for (int k = 0; k < 2; ++k) calls.expect_right(collective, kMost, 7);
      for (int quarter = 1; quarter < 4; ++quarter) {
        calls.go_on_from(kRoundsUntilWrap / 4 * static_cast<std::uint64_t>(quarter) + 10);
        for (int k = 0; k < 2; ++k) calls.expect_right(collective, 1, 8);
      }
      calls.go_on_from(kRoundsUntilWrap + 1);
      for (int k = 0; k < 4; ++k) calls.expect_right(collective, kMost, 9);
    }
  });
}

// What nobody has ever sent looks like a packet of round 0.
TEST_P(CountsWrap, NoPacketsAreNotTaken) {
  run([](World& world) {
    if (world.size() == 1) return;
    for (const Collective collective : kByLl8) {
      Calls calls(world);
      for (std::uint64_t quarter = 1; quarter < 4; ++quarter) {
        calls.go_on_from(kRoundsUntilWrap / 4 * quarter + 10);
        for (int k = 0; k < 2; ++k) calls.expect_right(collective, 1, 8);
      }
      calls.go_on_from(kRoundsUntilWrap - 1);
      for (int k = 0; k < 4; ++k) calls.expect_right(collective, kMost, 9);
    }
  });
}

constexpr std::uint32_t kBlocks = 4;
constexpr std::uint64_t kSyncs = 6;  // the word comes round in the middle

ISOTOPE_KERNEL void sync_grid(Team team, std::uint64_t* words, std::uint64_t* wrong) {
  const Block block = this_block();
  for (std::uint64_t round = 1; round <= kSyncs; ++round) {
    if (block.is_leader()) words[block.rank()] = round;
    if (!grid_sync(team)) return;
    for (std::uint32_t i = 0; i < kBlocks; ++i)
      if (load(&words[i]) != round) fetch_add(wrong, 1u);
    if (!grid_sync(team)) return;
  }
}

TEST_P(CountsWrap, AGridGoesOnWaitingForItsBlocks) {
  run([](World& world) {
    auto words = world.alloc_zeroed<std::uint64_t>(kBlocks), wrong = world.alloc_zeroed<std::uint64_t>(1);
    store(&world.team().state().grid, (kRoundsUntilWrap - kSyncs) << 32);
    world.launch<sync_grid>({.grid = kBlocks, .block = 2}, world.team(), words.data(), wrong.data());
    world.synchronize();
    EXPECT_EQ(wrong.get(0), 0u);
    EXPECT_EQ(load(&world.team().state().grid) >> 32, kSyncs) << "it went round";
  });
}

}  // namespace
}  // namespace isotope
