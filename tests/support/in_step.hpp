// For tests whose PEs come to a collective when they like: where SUITE_IN_STEP is set, they come together.
//
// Under compute-sanitizer's memcheck on an H200 the first of these tests stood still, with PEs as threads. Tests that
// have a barrier before each launch did not; so perhaps a copy of the host's waits there for a peer's kernel, which
// waits for this PE's. gpu/suite.sh sets SUITE_IN_STEP for memcheck; whether it helps was not tried on a GPU yet.
#pragma once

#include <cstdlib>

#include "isotope/isotope.hpp"

namespace isotope::testing {

/// Before a launch, after the last copy. Collective over the team.
inline void keep_in_step(World& world, const Team& team) {
  static const bool in_step = std::getenv("SUITE_IN_STEP") != nullptr;
  if (in_step) world.barrier(team);
}

}  // namespace isotope::testing
