#include "runtime/peer_atomics.hpp"

#include <fmt/format.h>

#include "runtime/log.hpp"

namespace isotope::runtime {

void warn_of_peer_atomics(int rank, const std::vector<int>& peers) {
  if (peers.empty()) return;
  log_warn(fmt::format(
      "the GPU of PE {} reaches that of PE{} {} without native atomics: atomic_... calls and SignalOp::add on memory "
      "there may lose updates. Puts, gets, SignalOp::set, barriers and collectives do without. `isotope info` marks "
      "GPUs that have them; CUDA_VISIBLE_DEVICES chooses among GPUs",
      rank, peers.size() == 1 ? "" : "s", fmt::join(peers, ", ")));
}

}  // namespace isotope::runtime
