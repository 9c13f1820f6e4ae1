// The flag is released at device scope. The peer that waits for it is another device.
#include "corpus.hpp"

namespace corpus::device_scope_release {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Span<int> data, Signal* flag) {
  const Block block = this_block();
  const int right = (team.rank() + 1) % team.size();
  for (std::size_t i = block.thread_rank(); i < data.size(); i += block.size()) *team.at(&data[i], right) = team.rank();
  block.sync();
  if (block.is_leader())
    store(&team.at(flag, right)->value, 1, Order::release, Repaired ? Scope::system : Scope::device);
  if (!wait_until(block, team, flag, Cmp::ge, 1)) return;
  for (std::size_t i = block.thread_rank(); i < data.size(); i += block.size()) data[i] += 1;
}

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc_zeroed<int>(8);
  auto flag = world.alloc_zeroed<Signal>(1);
  world.launch<send<Repaired>>({.block = 4}, world.team(), data.span(), flag.data());
  world.synchronize();
}
CORPUS_CASE(2, "race", "scope too narrow");

}  // namespace corpus::device_scope_release
