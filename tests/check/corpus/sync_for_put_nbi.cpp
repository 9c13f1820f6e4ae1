// A sync is no barrier: it completes no non-blocking put.
#include "corpus.hpp"

namespace corpus::sync_for_put_nbi {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Span<int> to, Span<int> from) {
  const Block block = this_block();
  put_nbi(block, team, to, from, (team.rank() + 1) % team.size());
  if constexpr (Repaired) {
    if (!barrier(block, team)) return;
  } else {
    if (!sync(block, team)) return;
  }
  to[block.thread_rank()] += 1;
}

template <bool Repaired>
void program(World& world) {
  auto to = world.alloc_zeroed<int>(4), from = world.alloc_zeroed<int>(4);
  world.launch<send<Repaired>>({.block = 4}, world.team(), to.span(), from.span());
  world.synchronize();
}
CORPUS_CASE(2, "race", "put not complete");

}  // namespace corpus::sync_for_put_nbi
