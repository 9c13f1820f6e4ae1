// The algorithms for types that are known at run time: compiled here once for each kind of group.
#include "isotope/collective/any_reduction.hpp"
#include "isotope/collective/symm.hpp"

namespace isotope::detail {

namespace {

template <Group G>
bool run(const Stage<G>& on, const CollectiveCall& call) {
  const Range all{0, call.count};
  if (!combines(call.collective)) return run_collective<Among::all>(on, size_of(call.type), call, all, 1);
  return run_collective<Among::all>(on, AnyReduction(call.type, call.op, call.accumulate, on.call.site), call, all, 1);
}

}  // namespace

bool run_any(const Stage<Thread>& on, const CollectiveCall& call) { return run(on, call); }
bool run_any(const Stage<Warp>& on, const CollectiveCall& call) { return run(on, call); }
bool run_any(const Stage<Block>& on, const CollectiveCall& call) { return run(on, call); }

}  // namespace isotope::detail
