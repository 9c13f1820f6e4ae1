// A barrier of counters that each PE resets after its wait: an arrival for the next round may have come already.
#include "corpus.hpp"

namespace corpus::barrier_counter_reset {

template <bool Repaired>
ISOTOPE_KERNEL void meet(Team team, std::uint64_t* counter) {
  const auto members = static_cast<std::uint64_t>(team.size());
  for (std::uint64_t round = 1; round <= 2; ++round) {
    for (int pe = 0; pe < team.size(); ++pe) atomic_add(team, counter, 1, pe, Order::release);
    if (!wait_until(this_thread(), team, counter, Cmp::ge, Repaired ? round * members : members)) return;
    if constexpr (!Repaired) store(counter, 0);
  }
}

template <bool Repaired>
void program(World& world) {
  auto counter = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<meet<Repaired>>({}, world.team(), counter.data());
  world.synchronize();
}
CORPUS_CASE(2, "deadlock", "reset too early");

}  // namespace corpus::barrier_counter_reset
