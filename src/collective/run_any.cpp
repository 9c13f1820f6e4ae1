// The algorithms for types that are known at run time: compiled here once for each kind of group.
#include "isotope/collective/any_reduction.hpp"
#include "isotope/collective/symm.hpp"

namespace isotope::detail {

namespace {

template <Group G>
bool run(const Stage<G>& on, const CollectiveCall& call, const Range& range, std::uint32_t groups) {
  if (!combines(call.collective)) return run_collective<Among::all>(on, size_of(call.type), call, range, groups);
  return run_collective<Among::all>(on, AnyReduction(call.type, call.op, call.accumulate, on.call.site), call, range,
                                    groups);
}

}  // namespace

#define ISOTOPE_RUN_ANY(G)                                                                                 \
  bool run_any(const Stage<G>& on, const CollectiveCall& call, const Range& range, std::uint32_t groups) { \
    return run(on, call, range, groups);                                                                   \
  }
ISOTOPE_RUN_ANY(Thread)
ISOTOPE_RUN_ANY(Warp)
ISOTOPE_RUN_ANY(Block)
#undef ISOTOPE_RUN_ANY

}  // namespace isotope::detail
