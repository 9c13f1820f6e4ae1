// A word to the user where a GPU reaches those of other PEs without native atomics.
#pragma once

#include <vector>

namespace isotope::runtime {

/// Warns of the PEs on whose memory this PE's atomics may not be atomic; says nothing where there are none.
void warn_of_peer_atomics(int rank, const std::vector<int>& peers);

}  // namespace isotope::runtime
