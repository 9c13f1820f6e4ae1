// Collectives from kernels, by every kind of group: threads, warps, blocks and grids, several of them at once on
// channels of their own. On GPUs a few algorithms (collective_mix.hpp): all of them for four groups would take nvcc
// three minutes. collective_rounds_test.cpp has all, for blocks.
#include <concepts>

#include "support/collective_mix.hpp"
#include "support/job_shape.hpp"

namespace isotope {
namespace {

using testing::Finding;
using testing::Mix;

class CollectiveGroups : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveGroups);

constexpr std::uint64_t kRounds = 12;
constexpr int kChannels = 6;
constexpr std::size_t kSlotBytes = 1920, kSharedMost = 259;

constexpr auto kOnTime = [](std::uint64_t) {};

struct alignas(16) SharedInts {
  std::int32_t values[kSharedMost];
};

/// Buffers that need not be symmetric are any memory: here shared memory of the block, whole words of it and some
/// elements. Counts what is wrong.
ISOTOPE_KERNEL void of_shared_memory(Team team, Workspace workspace, std::int32_t* symmetric, std::size_t n,
                                     std::uint32_t* wrong) {
  ISOTOPE_SHARED(SharedInts, shared);
  std::int32_t* mine = shared.values;
  const Block block = this_block();
  const int me = team.rank(), members = team.size();
  const auto each = [&](std::size_t count, auto step) {
    for (std::size_t i = block.thread_rank(); i < count; i += block.size()) step(i);
  };
  const auto sum = [&](std::size_t i) {
    return static_cast<std::int32_t>(i) * members + 1000 * members * (members - 1) / 2;
  };
  each(n, [&](std::size_t i) { mine[i] = 1000 * me + static_cast<std::int32_t>(i); });
  std::uint32_t found = 0;
  if (!all_reduce<ReduceOp::add, Accumulate::wide, Algo::one_shot>(block, team, workspace.channel(0), mine, mine, n))
    ++found;
  each(n, [&](std::size_t i) { found += mine[i] != sum(i) ? 1 : 0; });
  block.sync();
  each(n * static_cast<std::size_t>(members),
       [&](std::size_t i) { symmetric[i] = 1000 * me + static_cast<std::int32_t>(i); });
  each(n, [&](std::size_t i) { mine[i] = -1; });
  if (!reduce_scatter<ReduceOp::add, Accumulate::wide, Algo::pull>(block, team, workspace.channel(0), mine, symmetric,
                                                                   n))
    ++found;
  each(n, [&](std::size_t i) { found += mine[i] != sum(static_cast<std::size_t>(me) * n + i) ? 1 : 0; });
  if (found != 0) fetch_add(wrong, found);
}

/// Each group on a channel and in buffers of its own, and with its own order of calls.
template <class G>
ISOTOPE_KERNEL void groups_at_once(Team team, Workspace workspace, std::uint64_t seed, Mix mix, float* dst, float* src,
                                   std::size_t stride, Finding* finding) {
  const Block block = this_block();
  std::uint32_t index = block.rank();
  if constexpr (std::same_as<G, Thread>) index = block.thread_rank();
  if constexpr (std::same_as<G, Warp>) index = this_warp().rank();
  const G group{};
  testing::mix_rounds<Mix::few>(
      group, team, workspace.channel(static_cast<int>(index)), group.thread_rank(), group.size(), [&] { group.sync(); },
      kOnTime, seed + index, kRounds, mix, dst + index * stride, src + index * stride, &finding[index]);
}

ISOTOPE_KERNEL void whole_grid(Team team, Workspace workspace, std::uint64_t seed, Mix mix, float* dst, float* src,
                               std::size_t, Finding* finding) {
  const Block block = this_block();
  const std::size_t rank = std::size_t{block.rank()} * block.size() + block.thread_rank();
  testing::mix_rounds<Mix::few>(
      this_grid(), team, workspace, rank, std::size_t{block.grid_size()} * block.size(), [&] { grid_sync(team); },
      kOnTime, seed, kRounds, mix, dst, src, finding);
}

class Groups {
 public:
  explicit Groups(World& world)
      : world_(world),
        coll_(world, {.channels = kChannels, .slot_bytes = kSlotBytes}),
        stride_(testing::kMixMost * static_cast<std::size_t>(world.size()) + 16),
        dst_(world.alloc<float>(stride_ * kChannels)),
        src_(world.alloc<float>(stride_ * kChannels)),
        finding_(world.alloc_zeroed<Finding>(kChannels)) {}

  template <class G, auto Kernel>
  void check(std::uint32_t grid, std::uint32_t threads) {
    const Mix mix = testing::mix_on(world_, Mix::few);
    seed_ += 100;
    world_.launch<Kernel>({.grid = grid, .block = threads}, world_.team(), coll_.workspace(), seed_, mix, dst_.data(),
                          src_.data(), stride_, finding_.data());
    world_.synchronize();
    for (std::size_t i = 0; i < kChannels; ++i) {
      const Finding finding = finding_.get(i);
      EXPECT_EQ(finding.wrong, 0u) << grid << " blocks of " << threads << ", group " << i << ": "
                                   << testing::story(seed_ + (std::same_as<G, Grid> ? 0 : i), finding, world_.size(),
                                                     mix);
    }
  }

 private:
  World& world_;
  Collectives coll_;
  std::size_t stride_;
  Symmetric<float> dst_, src_;
  Symmetric<Finding> finding_;
  std::uint64_t seed_ = 0;
};

TEST_P(CollectiveGroups, SeveralOfEachKind) {
  run([](World& world) {
    Groups groups(world);
    groups.check<Thread, groups_at_once<Thread>>(1, 1);
    groups.check<Thread, groups_at_once<Thread>>(1, 5);
    groups.check<Warp, groups_at_once<Warp>>(1, 32);
    groups.check<Warp, groups_at_once<Warp>>(1, 80);  // the last one is half a warp
    groups.check<Block, groups_at_once<Block>>(1, 1);
    groups.check<Block, groups_at_once<Block>>(3, 32);
    groups.check<Block, groups_at_once<Block>>(2, 96);
  });
}

TEST_P(CollectiveGroups, TakesSharedMemory) {
  run([](World& world) {
    Collectives coll(world, {.channels = 1, .slot_bytes = kSlotBytes});
    auto symmetric = world.alloc<std::int32_t>(kSharedMost * static_cast<std::size_t>(world.size()));
    auto wrong = world.alloc_zeroed<std::uint32_t>(1);
    for (const std::size_t n : {std::size_t{1}, std::size_t{64}, kSharedMost}) {
      world.launch<of_shared_memory>({.block = 64}, world.team(), coll.workspace(), symmetric.data(), n, wrong.data());
      world.synchronize();
      EXPECT_EQ(wrong.get(0), 0u) << n << " elements";
    }
  });
}

TEST_P(CollectiveGroups, WholeGrids) {
  run([](World& world) {
    Groups groups(world);
    groups.check<Grid, whole_grid>(1, 1);
    groups.check<Grid, whole_grid>(4, 1);
    groups.check<Grid, whole_grid>(3, 33);
  });
}

}  // namespace
}  // namespace isotope
