// Lamport: a value that is not 0 is its own flag. The receiver clears a slot that the sender may have filled already.
#include "corpus.hpp"

namespace corpus::lamport_clears_wrong_slot {

template <bool Repaired>
ISOTOPE_KERNEL void stream_values(Team team, std::uint64_t* slots, Signal* cleared) {
  for (std::uint64_t round = 0; round < 4; ++round) {
    const std::uint64_t slot = round % 2;
    if (team.rank() == 0) {
      if (round >= 2 && !wait_until(this_thread(), team, cleared, Cmp::ge, round - 1)) return;
      store(team.at(&slots[slot], 1), round + 1);
    } else {
      while (load(&slots[slot]) == 0) {
      }
      store(&slots[Repaired ? slot : 1 - slot], 0);
      signal(this_thread(), team, cleared, 1, SignalOp::add, 0);
    }
  }
}

template <bool Repaired>
void program(World& world) {
  auto slots = world.alloc_zeroed<std::uint64_t>(2);
  auto cleared = world.alloc_zeroed<Signal>(1);
  world.launch<stream_values<Repaired>>({}, world.team(), slots.data(), cleared.data());
  world.synchronize();
}
CORPUS_CASE(2, "deadlock", "never sent");

}  // namespace corpus::lamport_clears_wrong_slot
