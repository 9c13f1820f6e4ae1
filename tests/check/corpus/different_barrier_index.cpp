// Members of a team meet at different barriers.
#include "corpus.hpp"

namespace corpus::different_barrier_index {

template <bool Repaired>
ISOTOPE_KERNEL void meet(Team team) {
  barrier(this_block(), team, Repaired ? 0 : team.rank());
}

template <bool Repaired>
void program(World& world) {
  world.launch<meet<Repaired>>({.block = 2}, world.team());
  world.synchronize();
}
CORPUS_CASE(2, "deadlock", "never sent");

}  // namespace corpus::different_barrier_index
