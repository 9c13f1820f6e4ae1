// The source of a non-blocking put is written again before quiet.
#include "corpus.hpp"

namespace corpus::put_nbi_source_reused {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Span<int> to, Span<int> from) {
  const Block block = this_block();
  put_nbi(block, team, to, from, (team.rank() + 1) % team.size());
  if constexpr (Repaired) quiet(block, team);
  from[block.thread_rank()] = 1;
  barrier(block, team);
}

template <bool Repaired>
void program(World& world) {
  auto to = world.alloc_zeroed<int>(4), from = world.alloc_zeroed<int>(4);
  world.launch<send<Repaired>>({.block = 4}, world.team(), to.span(), from.span());
  world.synchronize();
}
CORPUS_CASE(2, "race", "put not complete");

}  // namespace corpus::put_nbi_source_reused
