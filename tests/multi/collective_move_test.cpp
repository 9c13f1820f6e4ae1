// all_gather, all_to_all and broadcast: every algorithm and size of element, of awkward counts and places.
#include <algorithm>

#include "isotope/host/choice.hpp"
#include "support/collective_rig.hpp"
#include "support/job_shape.hpp"

namespace isotope {
namespace {

using testing::CollectiveRig;
using testing::Layout;

class CollectiveMove : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveMove);

void check_all_types(World& world, Collective collective) {
  const auto size = static_cast<std::size_t>(world.size());
  CollectiveRig rig(world, world.team(), 3 * CollectiveRig::kSlotBytes * size);
  for (const Algo algo : algorithms_of(collective)) {
    for (const DataType type : testing::types_on(world, collective)) {
      testing::visit_type(type, [&]<class T>() {
        int calls = 0;
        for (Layout layout : testing::awkward_layouts(sizeof(T), CollectiveRig::kSlotBytes)) {
          CollectiveCall call{collective, algo, type};
          if (algo == Algo::direct) layout.in_place = false;
          if (collective == Collective::broadcast) call.root = ++calls % world.size();
          rig.check<T>(call, layout);
        }
      });
    }
  }
}

TEST_P(CollectiveMove, AllGather) {
  run([](World& world) { check_all_types(world, Collective::all_gather); });
}
TEST_P(CollectiveMove, AllToAll) {
  run([](World& world) { check_all_types(world, Collective::all_to_all); });
}
TEST_P(CollectiveMove, Broadcast) {
  run([](World& world) { check_all_types(world, Collective::broadcast); });
}

// Several pieces of the pipeline, from every root.
TEST_P(CollectiveMove, LongBroadcastFromEveryRoot) {
  run([](World& world) {
    CollectiveRig rig(world, world.team(), 300'000);
    for (const Algo algo : algorithms_of(Collective::broadcast)) {
      for (int root = 0; root < world.size(); ++root)
        rig.check<std::uint16_t>({Collective::broadcast, algo, DataType::u16, ReduceOp::add, Accumulate::wide, root},
                                 {.count = 140'001, .dst_shift = 1, .src_shift = 3, .in_place = root % 2 == 1});
    }
  });
}

// So much that copies go past the caches: everyone's block has an odd length, and lies where no line begins.
TEST_P(CollectiveMove, CopiesPastTheCaches) {
  run([](World& world) {
    const std::size_t each =
        cpu::past_caches_from(std::max(2, world.size())).copies / static_cast<std::size_t>(world.size()) + 77;
    CollectiveRig rig(world, world.team(), (each + 64) * static_cast<std::size_t>(world.size()));
    for (const Algo algo : {Algo::push, Algo::pull})
      rig.check<std::uint8_t>({Collective::all_gather, algo, DataType::u8},
                              {.count = each, .dst_shift = 1, .src_shift = 3});
    rig.check<std::uint8_t>({Collective::all_to_all, Algo::direct, DataType::u8},
                            {.count = each, .dst_shift = 5, .src_shift = 2});
  });
}

}  // namespace
}  // namespace isotope
