// reduce, reduce_scatter and the scans: every algorithm, type and operation, against higher precision.
#include "isotope/host/choice.hpp"
#include "support/collective_rig.hpp"
#include "support/job_shape.hpp"

namespace isotope {
namespace {

using testing::CollectiveRig;
using testing::Layout;

class CollectiveReduce : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveReduce);

template <class T>
void check_type(World& world, CollectiveRig& rig, Collective collective) {
  int calls = 0;
  for (const ReduceOp op : testing::kOps) {
    for (const Accumulate accumulate : {Accumulate::wide, Accumulate::native}) {
      if (accumulate == Accumulate::native && !is_narrow_float<T>) continue;
      for (const Layout& layout : testing::awkward_layouts(sizeof(T), CollectiveRig::kSlotBytes, op)) {
        const int root = collective == Collective::reduce ? ++calls % world.size() : 0;
        for (const Algo algo : algorithms_of(collective)) {
          const CollectiveCall call{collective, algo, data_type_of<T>, op, accumulate, root};
          if (const char* why = why_not(collective, algo, call.type, op)) {
            rig.expect_refused(call, layout, Code::not_supported, why);
            continue;
          }
          const std::vector<char> out = rig.check<T>(call, layout);
          if (op == ReduceOp::add && testing::kFloat<T> && layout.count == 61) {
            EXPECT_EQ(rig.check<T>(call, layout), out) << "another result the second time: " << name_of(algo);
          }
        }
      }
    }
  }
}

void check_all_types(World& world, Collective collective) {
  const bool parts = collective == Collective::reduce_scatter;
  CollectiveRig rig(world, world.team(),
                    3 * CollectiveRig::kSlotBytes * static_cast<std::size_t>(parts ? world.size() : 1));
  for (const DataType type : testing::types_on(world, collective))
    testing::visit_type(type, [&]<class T>() { check_type<T>(world, rig, collective); });
}

TEST_P(CollectiveReduce, ToARoot) {
  run([](World& world) { check_all_types(world, Collective::reduce); });
}
TEST_P(CollectiveReduce, Scattered) {
  run([](World& world) { check_all_types(world, Collective::reduce_scatter); });
}
TEST_P(CollectiveReduce, InclusiveScan) {
  run([](World& world) { check_all_types(world, Collective::inclusive_scan); });
}
TEST_P(CollectiveReduce, ExclusiveScan) {
  run([](World& world) { check_all_types(world, Collective::exclusive_scan); });
}

}  // namespace
}  // namespace isotope
