// What a non-blocking get fetches is used before quiet.
#include "corpus.hpp"

namespace corpus::get_nbi_without_quiet {

template <bool Repaired>
ISOTOPE_KERNEL void fetch(Team team, Span<int> to, Span<int> from) {
  const Block block = this_block();
  get_nbi(block, team, to, from, (team.rank() + 1) % team.size());
  if constexpr (Repaired) quiet(block, team);
  to[block.thread_rank()] += 1;
}

template <bool Repaired>
void program(World& world) {
  auto to = world.alloc_zeroed<int>(4), from = world.alloc_zeroed<int>(4);
  world.launch<fetch<Repaired>>({.block = 4}, world.team(), to.span(), from.span());
  world.synchronize();
}
CORPUS_CASE(2, "race", "put not complete");

}  // namespace corpus::get_nbi_without_quiet
