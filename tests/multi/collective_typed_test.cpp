// Collectives of one type and operation each, in kernels, shared out among blocks: their algorithm is a value. For the
// CPU: on a GPU that is what host calls are made of, each algorithm in a kernel of its own.
#include "isotope/host/choice.hpp"
#include "support/collective_rig.hpp"
#include "support/job_shape.hpp"

namespace isotope {
namespace {

using testing::CollectiveRig;

class CollectiveTyped : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveTyped);

constexpr int kChannels = 6;

/// Block b on channel b.
template <class T, ReduceOp Op, Accumulate A>
ISOTOPE_KERNEL void typed_kernel(Team team, Workspace workspace, CollectiveCall call, CallSite site) {
  const Block block = this_block();
  const Channel channel = workspace.channel(static_cast<int>(block.rank()));
  const detail::Slice part = detail::slice_of(call.count, static_cast<int>(block.rank()),
                                              static_cast<int>(block.grid_size()), 128 / sizeof(T));
  const detail::Stage<Block> on{block, team, channel, {name_of(call.collective), site}};
  detail::run_collective<detail::Among::all>(on, Reduction<T, Op, A>{}, call, {part.begin, part.count},
                                             block.grid_size());
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

TEST_P(CollectiveTyped, TypedKernels) {
  run([](World& world) {
    check_typed<bf16, ReduceOp::add, Accumulate::wide>(world, 3, 32);
    check_typed<e4m3, ReduceOp::average, Accumulate::native>(world, 1, 96);
    check_typed<std::int8_t, ReduceOp::average, Accumulate::wide>(world, 2, 1);
    check_typed<double, ReduceOp::max, Accumulate::wide>(world, 2, 33);
  });
}

}  // namespace
}  // namespace isotope
