// The launches of each PE, in order: PEs that choose different shapes for the same kernel wait for blocks that do not
// exist.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace isotope::check {

struct LaunchShape {
  std::uint64_t blocks = 0, threads = 0;
};

void note_launch(int pe, LaunchShape shape);
/// A sentence about the first launch whose shape is not the same on all PEs; empty when there is none.
std::string different_launches();

}  // namespace isotope::check
