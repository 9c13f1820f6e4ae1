// wait_until with Order::relaxed, to save the acquire, and then the data is read.
#include "corpus.hpp"

namespace corpus::relaxed_wait {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Span<int> data, Signal* flag) {
  const Block block = this_block();
  const int right = (team.rank() + 1) % team.size();
  if (block.is_leader()) data[0] = team.rank();
  put_signal(block, team, data.subspan(1, 1), data.subspan(0, 1), flag, 1, SignalOp::add, right);
  if (!wait_until(block, team, flag, Cmp::ge, 1, Repaired ? Order::acquire : Order::relaxed)) return;
  if (block.is_leader()) data[1] += 1;
}

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc_zeroed<int>(2);
  auto flag = world.alloc_zeroed<Signal>(1);
  world.launch<send<Repaired>>({.block = 2}, world.team(), data.span(), flag.data());
  world.synchronize();
}
CORPUS_CASE(2, "race", "acquire missing");

}  // namespace corpus::relaxed_wait
