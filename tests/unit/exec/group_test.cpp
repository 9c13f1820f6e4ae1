// Identity of kernel threads and synchronisation of a block.
#include <algorithm>
#include <vector>

#include "support.hpp"

namespace isotope::test {
namespace {

struct Shape {
  Dim3 grid, block;
};

class GroupShapes : public ::testing::TestWithParam<Shape> {};

TEST_P(GroupShapes, EveryThreadIsItself) {
  const Dim3 grid = GetParam().grid, block = GetParam().block;
  std::vector<int> seen(grid.count() * block.count());
  run(grid, block, [&] {
    const Block b = this_block();
    const Warp w = this_warp();
    ASSERT_EQ(b.dim(), block);
    ASSERT_EQ(b.grid_dim(), grid);
    ASSERT_EQ(b.size(), block.count());
    ASSERT_EQ(b.grid_size(), grid.count());
    ASSERT_EQ(b.thread_index(), block.index_of(b.thread_rank()));
    ASSERT_EQ(b.index(), grid.index_of(b.rank()));
    ASSERT_EQ(w.rank(), b.thread_rank() / 32);
    ASSERT_EQ(w.thread_rank(), b.thread_rank() % 32);
    ASSERT_EQ(w.size(), std::min<std::uint32_t>(32, b.size() - w.rank() * 32));
    ASSERT_EQ(b.is_leader(), b.thread_rank() == 0);
    ++seen[b.rank() * b.size() + b.thread_rank()];
    b.sync();
    // The same thread after a switch.
    ASSERT_EQ(b.thread_index(), block.index_of(b.thread_rank()));
    ++seen[b.rank() * b.size() + b.thread_rank()];
  });
  for (int count : seen) ASSERT_EQ(count, 2);
}

// In each round another thread says no, in some nobody does; with no sync between the rounds.
TEST_P(GroupShapes, AllHearsEveryThread) {
  const auto [grid, block] = GetParam();
  const auto threads = static_cast<std::uint32_t>(block.count());
  std::vector<int> wrong(grid.count() * threads);
  run(grid, block, [&] {
    const Block b = this_block();
    for (std::uint32_t round = 0; round < 12; ++round) {
      const bool nobody = round % 3 == 2;
      const std::uint32_t who = round * 7 % threads;
      if (b.all(nobody || b.thread_rank() != who) != nobody) ++wrong[b.rank() * threads + b.thread_rank()];
    }
  });
  for (const int count : wrong) ASSERT_EQ(count, 0);
}

// Each thread passes its value on to the next one, round after round. A sync that lets one thread through too early, or
// a second one too late, breaks the chain.
TEST_P(GroupShapes, SyncOrdersReadsAfterWrites) {
  const auto [grid, block] = GetParam();
  const std::uint64_t threads = block.count();
  std::vector<std::uint64_t> cells(grid.count() * threads);
  std::vector<std::uint64_t> wrong(grid.count());
  constexpr std::uint64_t kRounds = 5;
  run(grid, block, [&] {
    const Block b = this_block();
    std::uint64_t* mine = cells.data() + b.rank() * threads;
    const std::uint32_t me = b.thread_rank();
    mine[me] = me;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      b.sync();
      const std::uint64_t left = mine[(me + threads - 1) % threads];
      b.sync();
      mine[me] = left + 1;
    }
    const std::uint64_t origin = (me + kRounds * threads - kRounds) % threads;
    if (mine[me] != origin + kRounds) ++wrong[b.rank()];
  });
  for (std::uint64_t count : wrong) EXPECT_EQ(count, 0u);
}

TEST_P(GroupShapes, BroadcastIsThreadZeros) {
  const auto [grid, block] = GetParam();
  std::uint64_t wrong = 0;
  run(grid, block, [&] {
    const Block b = this_block();
    for (std::uint32_t round = 0; round < 6; ++round) {
      const std::uint32_t got = b.broadcast(b.thread_rank() * 1000 + b.rank() * 7 + round);
      if (got != b.rank() * 7 + round) ++wrong;
      if (round % 3 == 1) b.sync();  // parities of syncs and broadcasts differ
    }
  });
  EXPECT_EQ(wrong, 0u);
}

std::string shape_name(const ::testing::TestParamInfo<Shape>& shape) {
  const auto& [g, b] = shape.param;
  std::string name;
  for (std::uint32_t n : {g.x, g.y, g.z, b.x, b.y, b.z}) name += (name.empty() ? "" : "_") + std::to_string(n);
  return name;
}

INSTANTIATE_TEST_SUITE_P(Shapes, GroupShapes,
                         ::testing::Values(Shape{1, 1}, Shape{7, 1}, Shape{1, 32}, Shape{3, 48}, Shape{1, 128},
                                           Shape{4, 128}, Shape{1, 1024}, Shape{2, 1024}, Shape{{2, 3, 2}, {4, 3, 5}},
                                           Shape{{1, 2, 3}, {8, 8, 2}}),
                         shape_name);

TEST(Group, ThreadsThatReturnedCountAsArrived) {
  int after = 0;
  run(3, 64, [&] {
    const Block b = this_block();
    if (b.thread_rank() % 3 == 0) return;
    b.sync();
    if (b.thread_rank() % 3 == 1) return;
    b.sync();
    ++after;
  });
  EXPECT_EQ(after, 3 * 21);
}

TEST(Group, TheLastThreadsReturnReleasesTheOthers) {
  int after = 0;
  run(1, 40, [&] {
    if (this_block().thread_rank() == 39) return;  // arrives nowhere, starts last
    this_block().sync();
    ++after;
  });
  EXPECT_EQ(after, 39);
}

TEST(Group, BroadcastWithoutThreadZeroDoesNotCrash) {
  int after = 0;
  run(1, 8, [&] {
    if (this_block().thread_rank() == 0) return;
    this_block().broadcast(this_block().thread_rank());
    ++after;
  });
  EXPECT_EQ(after, 7);
}

TEST(Group, BroadcastCarriesSmallTypes) {
  struct Pair {
    float a;
    std::int16_t b;
  };
  int right = 0;
  run(1, 33, [&] {
    const auto rank = this_block().thread_rank();
    const Pair pair =
        this_block().broadcast(Pair{rank == 0 ? 1.5f : 0.f, static_cast<std::int16_t>(rank == 0 ? -3 : 9)});
    const bool flag = this_block().broadcast(rank == 0);
    if (pair.a == 1.5f && pair.b == -3 && flag) ++right;
  });
  EXPECT_EQ(right, 33);
}

TEST(Group, HostCodeIsABlockOfOne) {
  const Block b = this_block();
  EXPECT_EQ(b.size(), 1u);
  EXPECT_EQ(b.thread_rank(), 0u);
  EXPECT_EQ(this_warp().size(), 1u);
  b.sync();
  EXPECT_EQ(b.broadcast(5), 5);
  EXPECT_EQ(this_warp().shuffle(7, 0), 7);
  EXPECT_EQ(this_warp().ballot(true), 1u);
  EXPECT_EQ(this_warp().active_mask(), 1u);
  EXPECT_TRUE(this_warp().all(true));
  EXPECT_EQ(dynamic_shared<int>().size(), 0u);
  ISOTOPE_SHARED(int[4], cells);
  cells[3] = 1;
  EXPECT_EQ(this_thread().size(), 1u);
}

TEST(Group, HostIdentityIsBackAfterALaunch) {
  run(2, 64, [] { this_block().sync(); });
  EXPECT_EQ(this_block().size(), 1u);
  EXPECT_EQ(this_block().rank(), 0u);
  EXPECT_EQ(cpu::this_thread_state().block, nullptr);
}

}  // namespace
}  // namespace isotope::test
