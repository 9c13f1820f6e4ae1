// One thread waits for the whole block, and the others do not wait for it.
#include "corpus.hpp"

namespace corpus::block_sync_after_wait {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Span<int> data, Signal* flag) {
  const Block block = this_block();
  const int right = (team.rank() + 1) % team.size();
  *team.at(&data[block.thread_rank()], right) = team.rank();
  signal(block, team, flag, 1, SignalOp::set, right);
  if (block.is_leader() && !wait_until(this_thread(), team, flag, Cmp::ge, 1)) return;
  if constexpr (Repaired) block.sync();
  data[block.thread_rank()] += 1;
}

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc_zeroed<int>(4);
  auto flag = world.alloc_zeroed<Signal>(1);
  world.launch<send<Repaired>>({.block = 4}, world.team(), data.span(), flag.data());
  world.synchronize();
}
CORPUS_CASE(2, "race", "block sync missing");

}  // namespace corpus::block_sync_after_wait
