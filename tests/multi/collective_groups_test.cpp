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
constexpr std::size_t kSlotBytes = 1920;

constexpr auto kOnTime = [](std::uint64_t) {};

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
