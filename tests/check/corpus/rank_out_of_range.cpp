// The right neighbour of the last PE is not a member.
#include "corpus.hpp"

namespace corpus::rank_out_of_range {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, int* to) {
  p(team, to, 1, Repaired ? (team.rank() + 1) % team.size() : team.rank() + 1);
}

template <bool Repaired>
void program(World& world) {
  auto to = world.alloc_zeroed<int>(1);
  world.launch<send<Repaired>>({}, world.team(), to.data());
  world.synchronize();
}
CORPUS_CASE(2, "bad-argument", "to is no rank of the team");

}  // namespace corpus::rank_out_of_range
