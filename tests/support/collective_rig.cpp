#include "support/collective_rig.hpp"

#include <fmt/format.h>

namespace isotope::testing {

std::string text_of(const CollectiveCall& call, const Layout& layout, const Team& team) {
  return fmt::format("{} {} of {} by {}{}, {} elements, shifted by {} and {}{}, root {}, member {} of {}",
                     name_of(call.algo), name_of(call.collective), name_of(call.type), name_of(call.op),
                     call.accumulate == Accumulate::native ? " (native)" : "", layout.count, layout.dst_shift,
                     layout.src_shift, layout.in_place ? ", in place" : "", call.root, team.rank(), team.size());
}

}  // namespace isotope::testing
