// The signal goes out first, and the data after it.
#include "corpus.hpp"

namespace corpus::signal_before_put {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Span<int> to, Span<int> from, Signal* flag) {
  const Block block = this_block();
  const int right = (team.rank() + 1) % team.size();
  if constexpr (Repaired) put(block, team, to, from, right);
  signal(block, team, flag, 1, SignalOp::set, right);
  if constexpr (!Repaired) put(block, team, to, from, right);
  if (!wait_until(block, team, flag, Cmp::ge, 1)) return;
  to[block.thread_rank()] += 1;
}

template <bool Repaired>
void program(World& world) {
  auto to = world.alloc_zeroed<int>(4), from = world.alloc_zeroed<int>(4);
  auto flag = world.alloc_zeroed<Signal>(1);
  world.launch<send<Repaired>>({.block = 4}, world.team(), to.span(), from.span(), flag.data());
  world.synchronize();
}
CORPUS_CASE(2, "race", "signalled too early");

}  // namespace corpus::signal_before_put
