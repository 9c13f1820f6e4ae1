// PEs count together in one word with device-scope atomics.
#include "corpus.hpp"

namespace corpus::device_scope_counter {

template <bool Repaired>
ISOTOPE_KERNEL void count(Team team, std::uint64_t* counter) {
  fetch_add(team.at(counter, 0), 1, Order::relaxed, Repaired ? Scope::system : Scope::device);
}

template <bool Repaired>
void program(World& world) {
  auto counter = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<count<Repaired>>({}, world.team(), counter.data());
  world.synchronize();
}
CORPUS_CASE(3, "race", "scope too narrow");

}  // namespace corpus::device_scope_counter
