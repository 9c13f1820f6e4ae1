// The three kinds of group as template arguments of a kernel: group_here<G>() is the caller's group of that kind.
//
//   template <class G> ISOTOPE_KERNEL void k(Team team, ...) { barrier(group_here<G>(), team); }
//   each_group([&]<class G>() { world.launch<k<G>>(...); });
#pragma once

#include <type_traits>

#include "isotope/isotope.hpp"

namespace isotope::testing {

template <class G>
ISOTOPE_HD G group_here() {
  return {};
}

/// Which group of its kind the caller is in, counted in the block.
template <class G>
ISOTOPE_HD std::uint32_t unit_here() {
  if constexpr (std::is_same_v<G, Thread>) return this_block().thread_rank();
  if constexpr (std::is_same_v<G, Warp>) return this_warp().rank();
  return 0;
}

template <class F>
void each_group(F&& body) {
  body.template operator()<Thread>();
  body.template operator()<Warp>();
  body.template operator()<Block>();
}

}  // namespace isotope::testing
