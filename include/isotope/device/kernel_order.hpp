// A kernel and the ones before and after it on its stream.
//
// Where one before it has given up, this one must send nothing. World::launch sees to that for Teams that are
// parameters of the kernel. A kernel of your own, launched by <<<...>>> or cudaLaunchKernel, and any kernel for Teams
// inside another argument, does it itself:
//
//   __global__ void k(Team team, ...) {
//     begin_kernel(team);            // by every thread, before anything else is done with the Team
//
// And where it was launched with LaunchConfig::programmatic:
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

/// By every thread, first thing in the kernel, on the Team that its calls are given: whether a call in an earlier
/// kernel stopped the team is noted in that value (Team::stopped). One load of the GPU's memory; on the CPU nothing,
/// since each call looks there itself.
ISOTOPE_HD void begin_kernel(Team& team) { team.begin_kernel(); }

/// By every thread. Does what begin_kernel does too, which before the end of the earlier kernel is too early.
ISOTOPE_HD void await_previous_kernel(Team& team) {
  platform::await_previous_kernel();
  team.begin_kernel();
}
/// By any thread of each block; the next kernel comes when all blocks have called, or ended.
ISOTOPE_HD void allow_next_kernel() { platform::allow_next_kernel(); }

}  // namespace isotope
