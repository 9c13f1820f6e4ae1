// all_reduce: every algorithm, type and operation, of awkward counts and places, against higher precision.
#include "isotope/host/choice.hpp"
#include "support/collective_rig.hpp"
#include "support/job_shape.hpp"

namespace isotope {
namespace {

using testing::CollectiveRig;
using testing::Layout;

class CollectiveAllReduce : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveAllReduce);

/// Each combination of a type with an operation, and with a way to accumulate where that matters.
template <class T>
void check_type(World& world, CollectiveRig& rig) {
  auto cell = world.alloc<std::uint64_t>(1);
  std::vector<char> results;
  for (const ReduceOp op : testing::kOps) {
    for (const Accumulate accumulate : {Accumulate::wide, Accumulate::native}) {
      if (accumulate == Accumulate::native && !is_narrow_float<T>) continue;
      for (const Layout& layout : testing::awkward_layouts(sizeof(T), CollectiveRig::kSlotBytes, op)) {
        for (const Algo algo : algorithms_of(Collective::all_reduce)) {
          const CollectiveCall call{Collective::all_reduce, algo, data_type_of<T>, op, accumulate};
          if (const char* why = why_not(call.collective, algo, call.type, op)) {
            rig.expect_refused(call, layout, Code::not_supported, why);
            continue;
          }
          const bool in_place = layout.in_place && algo != Algo::multimem_one_shot;
          const std::vector<char> out =
              rig.check<T>(call, {layout.count, layout.dst_shift, layout.src_shift, in_place});
          results.insert(results.end(), out.begin(), out.end());
          // Once more: the same bits.
          if (op == ReduceOp::add && testing::kFloat<T> && layout.count == 61) {
            EXPECT_EQ(rig.check<T>(call, layout), out) << "another result the second time: " << name_of(algo);
          }
        }
      }
    }
  }
  testing::expect_same_everywhere(world, world.team(), cell, results, name_of(data_type_of<T>));
}

TEST_P(CollectiveAllReduce, EqualsTheReference) {
  run([](World& world) {
    CollectiveRig rig(world, world.team(), 3 * CollectiveRig::kSlotBytes);
    for (const DataType type : testing::types_on(world, Collective::all_reduce))
      testing::visit_type(type, [&]<class T>() { check_type<T>(world, rig); });
  });
}

}  // namespace
}  // namespace isotope
