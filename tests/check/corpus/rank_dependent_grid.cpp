// Each block meets its counterparts on the other PEs, and one PE has fewer blocks.
#include "corpus.hpp"

namespace corpus::rank_dependent_grid {

template <bool Repaired>
ISOTOPE_KERNEL void meet(Team team) {
  const Block block = this_block();
  barrier(block, team, static_cast<int>(block.rank()));
}

template <bool Repaired>
void program(World& world) {
  const std::uint32_t blocks = Repaired || world.rank() != 0 ? 2 : 1;
  world.launch<meet<Repaired>>({.grid = blocks, .block = 2}, world.team());
  world.synchronize();
}
CORPUS_CASE(2, "deadlock", "different launch shapes");

}  // namespace corpus::rank_dependent_grid
