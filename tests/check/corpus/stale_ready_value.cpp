// The second round waits for the value of the first, which is still there.
#include "corpus.hpp"

namespace corpus::stale_ready_value {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Span<int> to, Span<int> from, Signal* flag, Signal* read) {
  const Block block = this_block();
  const int right = (team.rank() + 1) % team.size(), left = (team.rank() + team.size() - 1) % team.size();
  for (std::uint64_t round = 1; round <= 2; ++round) {
    put_signal(block, team, to, from, flag, 1, SignalOp::add, right);
    if (!wait_until(block, team, flag, Cmp::ge, Repaired ? round : 1)) return;
    to[block.thread_rank()] += 1;
    signal(block, team, read, 1, SignalOp::add, left);
    if (!wait_until(block, team, read, Cmp::ge, round)) return;
  }
}

template <bool Repaired>
void program(World& world) {
  auto to = world.alloc_zeroed<int>(2), from = world.alloc_zeroed<int>(2);
  auto flag = world.alloc_zeroed<Signal>(1), read = world.alloc_zeroed<Signal>(1);
  world.launch<send<Repaired>>({.block = 2}, world.team(), to.span(), from.span(), flag.data(), read.data());
  world.synchronize();
}
CORPUS_CASE(2, "race", "signalled too early");

}  // namespace corpus::stale_ready_value
