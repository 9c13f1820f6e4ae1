// The source of put_signal_nbi is written again: only quiet gives it back, the signal is for the receiver.
#include "corpus.hpp"

namespace corpus::put_signal_nbi_source_reused {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Span<int> to, Span<int> from, Signal* flag) {
  const Block block = this_block();
  put_signal_nbi(block, team, to, from, flag, 1, SignalOp::set, (team.rank() + 1) % team.size());
  if constexpr (Repaired) quiet(block, team);
  from[block.thread_rank()] = 1;
  wait_until(block, team, flag, Cmp::ge, 1);
}

template <bool Repaired>
void program(World& world) {
  auto to = world.alloc_zeroed<int>(4), from = world.alloc_zeroed<int>(4);
  auto flag = world.alloc_zeroed<Signal>(1);
  world.launch<send<Repaired>>({.block = 4}, world.team(), to.span(), from.span(), flag.data());
  world.synchronize();
}
CORPUS_CASE(2, "race", "put not complete");

}  // namespace corpus::put_signal_nbi_source_reused
