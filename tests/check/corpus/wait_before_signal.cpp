// Everyone waits for the left neighbour before telling the right one.
#include "corpus.hpp"

namespace corpus::wait_before_signal {

template <bool Repaired>
ISOTOPE_KERNEL void ring(Team team, Signal* flag) {
  const Block block = this_block();
  const int right = (team.rank() + 1) % team.size();
  if constexpr (Repaired) signal(block, team, flag, 1, SignalOp::set, right);
  if (!wait_until(block, team, flag, Cmp::ge, 1)) return;
  if constexpr (!Repaired) signal(block, team, flag, 1, SignalOp::set, right);
}

template <bool Repaired>
void program(World& world) {
  auto flag = world.alloc_zeroed<Signal>(1);
  world.launch<ring<Repaired>>({.block = 2}, world.team(), flag.data());
  world.synchronize();
}
CORPUS_CASE(3, "deadlock", "never sent");

}  // namespace corpus::wait_before_signal
