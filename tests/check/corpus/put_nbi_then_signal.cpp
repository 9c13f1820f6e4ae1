// A non-blocking put, signalled before it is fenced.
#include "corpus.hpp"

namespace corpus::put_nbi_then_signal {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Span<int> to, Span<int> from, Signal* flag) {
  const Block block = this_block();
  const int right = (team.rank() + 1) % team.size();
  put_nbi(block, team, to, from, right);
  if constexpr (Repaired) isotope::fence(block, team);
  signal(block, team, flag, 1, SignalOp::set, right);
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
CORPUS_CASE(2, "race", "put not complete");

}  // namespace corpus::put_nbi_then_signal
