// grid_sync brings together the blocks of one PE. Other PEs know nothing of it.
#include "corpus.hpp"

namespace corpus::grid_sync_for_peers {

template <bool Repaired>
ISOTOPE_KERNEL void exchange_all(Team team, Span<int> data) {
  const Block block = this_block();
  *team.at(&data[block.rank()], (team.rank() + 1) % team.size()) = 1;
  if constexpr (Repaired) {
    if (!barrier(block, team, static_cast<int>(block.rank()))) return;
  } else {
    if (!grid_sync(team)) return;
  }
  data[block.rank()] += 1;
}

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc_zeroed<int>(2);
  world.launch<exchange_all<Repaired>>({.grid = 2}, world.team(), data.span());
  world.synchronize();
}
CORPUS_CASE(2, "race", "nothing orders them");

}  // namespace corpus::grid_sync_for_peers
