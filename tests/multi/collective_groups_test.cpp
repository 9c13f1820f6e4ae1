// Collectives from kernels, by every kind of group: threads, warps, blocks and grids, several of them at once on channels of
// their own, with typed reductions.
#include <concepts>

#include "isotope/host/choice.hpp"
#include "support/collective_mix.hpp"
#include "support/collective_rig.hpp"
#include "support/job_shape.hpp"

namespace isotope {
namespace {

using testing::CollectiveRig;
using testing::Finding;

class CollectiveGroups : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveGroups);

constexpr std::uint64_t kRounds = 12;
constexpr int kChannels = 6;

constexpr auto kOnTime = [](std::uint64_t) {};

/// Each group on a channel and in buffers of its own, and with its own order of calls.
template <class G>
ISOTOPE_KERNEL void groups_at_once(Team team, Workspace workspace, std::uint64_t seed, float* dst, float* src, std::size_t stride,
                                   Finding* finding) {
  const Block block = this_block();
  std::uint32_t index = block.rank();
  if constexpr (std::same_as<G, Thread>) index = block.thread_rank();
  if constexpr (std::same_as<G, Warp>) index = this_warp().rank();
  const G group{};
  testing::mix_rounds(
      group, team, workspace.channel(static_cast<int>(index)), group.thread_rank(), group.size(), [&] { group.sync(); }, kOnTime,
      seed + index, kRounds, dst + index * stride, src + index * stride, &finding[index]);
}

ISOTOPE_KERNEL void whole_grid(Team team, Workspace workspace, std::uint64_t seed, float* dst, float* src, std::size_t,
                               Finding* finding) {
  const Block block = this_block();
  const std::size_t rank = std::size_t{block.rank()} * block.size() + block.thread_rank();
  testing::mix_rounds(
      this_grid(), team, workspace, rank, std::size_t{block.grid_size()} * block.size(), [&] { grid_sync(team); }, kOnTime, seed,
      kRounds, dst, src, finding);
}

class Groups {
 public:
  explicit Groups(World& world)
      : world_(world),
        coll_(world, {.channels = kChannels, .slot_bytes = CollectiveRig::kSlotBytes}),
        stride_(testing::kMixMost * static_cast<std::size_t>(world.size()) + 16),
        dst_(world.alloc<float>(stride_ * kChannels)),
        src_(world.alloc<float>(stride_ * kChannels)),
        finding_(world.alloc_zeroed<Finding>(kChannels)) {}

  template <auto Kernel>
  void check(std::uint32_t grid, std::uint32_t threads, bool one_seed = false) {
    seed_ += 100;
    world_.launch<Kernel>({.grid = grid, .block = threads}, world_.team(), coll_.workspace(), seed_, dst_.data(), src_.data(),
                          stride_, finding_.data());
    world_.synchronize();
    for (std::size_t i = 0; i < kChannels; ++i) {
      EXPECT_EQ(finding_[i].wrong, 0u) << grid << " blocks of " << threads << ", group " << i << ": "
                                       << testing::story(seed_ + (one_seed ? 0 : i), finding_[i], world_.size());
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
    groups.check<groups_at_once<Thread>>(1, 1);
    groups.check<groups_at_once<Thread>>(1, 5);
    groups.check<groups_at_once<Warp>>(1, 32);
    groups.check<groups_at_once<Warp>>(1, 80);  // the last one is half a warp
    groups.check<groups_at_once<Block>>(1, 1);
    groups.check<groups_at_once<Block>>(3, 32);
    groups.check<groups_at_once<Block>>(2, 96);
  });
}

TEST_P(CollectiveGroups, WholeGrids) {
  run([](World& world) {
    Groups groups(world);
    groups.check<whole_grid>(1, 1, true);
    groups.check<whole_grid>(4, 1, true);
    groups.check<whole_grid>(3, 33, true);
  });
}

// Typed reductions, shared out among the blocks: block b on channel b, as host calls on a GPU do it.
template <class T, ReduceOp Op, Accumulate A>
ISOTOPE_KERNEL void typed_kernel(Team team, Workspace workspace, CollectiveCall call, CallSite site) {
  const Block block = this_block();
  const Channel channel = workspace.channel(static_cast<int>(block.rank()));
  const detail::Slice part =
      detail::slice_of(call.count, static_cast<int>(block.rank()), static_cast<int>(block.grid_size()), 128 / sizeof(T));
  const detail::Stage<Block> on{block, team, channel, {name_of(call.collective), site}};
  detail::run_collective<detail::Among::all>(on, Reduction<T, Op, A>{}, call, {part.begin, part.count}, block.grid_size());
}

template <class T, ReduceOp Op, Accumulate A>
void check_typed(World& world, std::uint32_t grid, std::uint32_t threads) {
  Collectives coll(world, {.channels = kChannels, .slot_bytes = CollectiveRig::kSlotBytes});
  CollectiveRig rig(world, world.team(), 3 * CollectiveRig::kSlotBytes * static_cast<std::size_t>(world.size()));
  rig.set_make([&](const CollectiveCall& call) {
    const LaunchConfig config{.grid = grid, .block = threads};
    world.launch<typed_kernel<T, Op, A>>(config, world.team(), coll.workspace(), call, CallSite::current());
    world.synchronize();
  });
  for (const testing::Layout& layout : testing::awkward_layouts(sizeof(T), CollectiveRig::kSlotBytes, Op)) {
    for (const Collective collective : {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter,
                                        Collective::inclusive_scan, Collective::exclusive_scan}) {
      for (const Algo algo : algorithms_of(collective)) {
        if (why_not(collective, algo, data_type_of<T>, Op) != nullptr) continue;
        if (algo == Algo::multimem_one_shot && layout.in_place) continue;
        const int root = collective == Collective::reduce ? world.size() - 1 : 0;
        rig.check<T>({collective, algo, data_type_of<T>, Op, A, root}, layout);
      }
    }
  }
}

TEST_P(CollectiveGroups, TypedKernels) {
  run([](World& world) {
    check_typed<bf16, ReduceOp::add, Accumulate::wide>(world, 3, 32);
    check_typed<e4m3, ReduceOp::average, Accumulate::native>(world, 1, 96);
    check_typed<std::int8_t, ReduceOp::average, Accumulate::wide>(world, 2, 1);
    check_typed<double, ReduceOp::max, Accumulate::wide>(world, 2, 33);
  });
}

}  // namespace
}  // namespace isotope
