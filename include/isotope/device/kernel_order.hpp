// A kernel and the ones before and after it on its stream, where it was launched with LaunchConfig::programmatic.
//
//   ISOTOPE_KERNEL void k(Team team, ...) {
//     ... what needs nothing of the kernel before ...
//     await_previous_kernel(team);   // all of it is done and seen
//     allow_next_kernel();           // the next programmatic one may come to the GPU, and waits there for our end
//
// The next kernel waits on the GPU while this one works, so it starts sooner by the time that a launch takes. Allow it
// after the wait, not before: else a whole row of kernels comes to sit on the GPU, where peers may need the room to
// answer this one. Without programmatic, and on other platforms, both do nothing: kernels of one stream follow each
// other.
#pragma once

#include "isotope/base/macros.hpp"
#include "isotope/device/team.hpp"

namespace isotope {

/// By every thread. The Team is one of the kernel's parameters: a call of the earlier kernel may have stopped it.
ISOTOPE_HD void await_previous_kernel(Team& team) {
  platform::await_previous_kernel();
  team.begin_kernel();
}
/// By any thread of each block; the next kernel comes when all blocks have called, or ended.
ISOTOPE_HD void allow_next_kernel() { platform::allow_next_kernel(); }

}  // namespace isotope
