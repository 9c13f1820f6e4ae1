// A barrier that waits for exactly N and then subtracts N: a PE that is a round ahead adds to N + 1.
#include "corpus.hpp"

namespace corpus::wait_for_exactly_n {

template <bool Repaired>
ISOTOPE_KERNEL void meet(Team team, std::uint64_t* counter) {
  const auto members = static_cast<std::uint64_t>(team.size());
  for (std::uint64_t round = 1; round <= 3; ++round) {
    for (int pe = 0; pe < team.size(); ++pe) atomic_add(team, counter, 1, pe, Order::release);
    if constexpr (Repaired) {
      if (!wait_until(this_thread(), team, counter, Cmp::ge, round * members)) return;
    } else {
      if (!wait_until(this_thread(), team, counter, Cmp::eq, members)) return;
      fetch_sub(counter, members);
    }
  }
}

template <bool Repaired>
void program(World& world) {
  auto counter = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<meet<Repaired>>({}, world.team(), counter.data());
  world.synchronize();
}
CORPUS_CASE(3, "deadlock", "overshot");

}  // namespace corpus::wait_for_exactly_n
