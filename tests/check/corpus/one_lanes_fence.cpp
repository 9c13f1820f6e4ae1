// Thread 0 fences for the whole block, but a fence orders only what its own thread has done or knows of.
#include "corpus.hpp"

namespace corpus::one_lanes_fence {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Span<int> data, std::uint64_t* flag) {
  const Block block = this_block();
  const int right = (team.rank() + 1) % team.size();
  *team.at(&data[block.thread_rank()], right) = team.rank();
  if constexpr (Repaired) block.sync();
  if (block.is_leader()) {
    isotope::fence(Order::acq_rel, Scope::system);
    store(team.at(flag, right), 1);
  }
  if (!wait_until(block, team, flag, Cmp::ge, 1)) return;
  data[block.thread_rank()] += 1;
}

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc_zeroed<int>(4);
  auto flag = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<send<Repaired>>({.block = 4}, world.team(), data.span(), flag.data());
  world.synchronize();
}
CORPUS_CASE(2, "race", "block sync missing");

}  // namespace corpus::one_lanes_fence
