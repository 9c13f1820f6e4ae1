// All threads write, the leader signals, and nothing brings them together in between.
#include "corpus.hpp"

namespace corpus::block_sync_before_signal {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Span<int> data, Signal* flag) {
  const Block block = this_block();
  const int right = (team.rank() + 1) % team.size();
  *team.at(&data[block.thread_rank()], right) = team.rank();
  if constexpr (Repaired) block.sync();
  if (block.is_leader()) signal(this_thread(), team, flag, 1, SignalOp::set, right);
  if (!wait_until(block, team, flag, Cmp::ge, 1)) return;
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

}  // namespace corpus::block_sync_before_signal
