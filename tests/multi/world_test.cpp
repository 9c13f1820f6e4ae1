// Joining, leaving, barriers and several Worlds.
#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "support/job_shape.hpp"

namespace isotope {
namespace {

class WorldTest : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(WorldTest);

ISOTOPE_KERNEL void note_everywhere(Team team, std::uint32_t* seen) {
  for (int pe = 0; pe < team.size(); ++pe) atomic_inc(team, seen + team.rank(), pe);
}

TEST_P(WorldTest, EveryPeHasItsRank) {
  const int pes = GetParam().pes;
  run([pes](World& world) {
    auto seen = world.alloc_zeroed<std::uint32_t>(static_cast<std::size_t>(pes));
    const Team team = world.team();
    EXPECT_EQ(team.rank(), world.rank());
    EXPECT_EQ(team.size(), pes);
    EXPECT_EQ(world.node_size(), pes);
    EXPECT_EQ(world.node_rank(), world.rank());
    world.launch<note_everywhere>({}, team, seen.data());
    world.synchronize();
    world.barrier();
    EXPECT_EQ(seen.read(), std::vector<std::uint32_t>(static_cast<std::size_t>(pes), 1u));
  });
}

// What the host wrote before a barrier is seen after it, over many rounds with PEs out of step.
TEST_P(WorldTest, BarrierMakesWritesVisible) {
  run([](World& world) {
    const int rounds = 200;
    auto cell = world.alloc_zeroed<std::uint64_t>(1);
    std::minstd_rand skew(static_cast<unsigned>(world.rank()) + 1);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      if (skew() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(skew() % 300));
      cell.set(0, round * 1000 + static_cast<std::uint64_t>(world.rank()));
      world.barrier();
      for (int pe = 0; pe < world.size(); ++pe) {
        ASSERT_EQ(cell.read_from(world.team(), pe).front(), round * 1000 + static_cast<std::uint64_t>(pe));
      }
      world.barrier();
    }
  });
}

TEST_P(WorldTest, SeveralWorldsLiveSideBySide) {
  run([](World& first) {
    auto a = first.alloc_zeroed<int>(64);
    a.set(0, 100 + first.rank());
    {
      World second = init();
      EXPECT_EQ(second.rank(), first.rank());
      EXPECT_EQ(second.size(), first.size());
      auto b = second.alloc_zeroed<int>(64);
      b.set(0, 200 + second.rank());
      second.barrier();
      first.barrier();
      const int next = (first.rank() + 1) % first.size();
      EXPECT_EQ(a.read_from(first.team(), next, 0, 1).front(), 100 + next);
      EXPECT_EQ(b.read_from(second.team(), next, 0, 1).front(), 200 + next);
      second.barrier();
    }
    World third = init();
    third.barrier();
    first.barrier();
  });
}

// A World that goes out of scope on one PE does not disturb the others.
TEST_P(WorldTest, PesLeaveAtDifferentTimes) {
  run([](World& world) {
    auto x = world.alloc_zeroed<int>(16);
    world.barrier();
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * world.rank()));
    EXPECT_EQ(world.status().code, Code::ok);
    for (int pe = 0; pe < world.size(); ++pe) EXPECT_EQ(x.read_from(world.team(), pe, 0, 1).front(), 0);
  });
}

TEST(World, UseAfterItIsGoneIsAnError) {
  World world = init();
  World other = std::move(world);
  EXPECT_THROW(world.barrier(), Error);  // NOLINT(bugprone-use-after-move): that is the test
  Stream stream = other.stream();
  Symmetric<int> outlives = other.alloc<int>(8);
  outlives[0] = 7;
  {
    World ends = std::move(other);
  }
  try {
    stream.call([] {});
    FAIL() << "a stream of a World that is gone took work";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_initialized) << error.what();
  }
  EXPECT_EQ(outlives[0], 7) << "memory stays mapped while an object is held";
}

TEST(World, SinglePeNeedsNoLauncher) {
  World world = init();
  EXPECT_EQ(world.rank(), 0);
  EXPECT_EQ(world.size(), 1);
  world.barrier();
}

}  // namespace
}  // namespace isotope
