// A relaxed sync is arrival alone: nothing that was written before it is visible after it.
#include "corpus.hpp"

namespace corpus::relaxed_team_sync {

template <bool Repaired>
ISOTOPE_KERNEL void exchange_all(Team team, Span<int> data) {
  const Block block = this_block();
  if (block.is_leader()) *team.at(&data[team.rank()], (team.rank() + 1) % team.size()) = 1;
  if (!sync(block, team, 0, Repaired ? Order::acq_rel : Order::relaxed)) return;
  if (block.is_leader()) data[(team.rank() + team.size() - 1) % team.size()] += 1;
}

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc_zeroed<int>(static_cast<std::size_t>(world.size()));
  world.launch<exchange_all<Repaired>>({.block = 2}, world.team(), data.span());
  world.synchronize();
}
CORPUS_CASE(2, "race", "release missing");

}  // namespace corpus::relaxed_team_sync
