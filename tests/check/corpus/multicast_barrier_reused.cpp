// A multicast add as the arrival of a barrier whose word is set back to 0 for the next use.
#include "corpus.hpp"

namespace corpus::multicast_barrier_reused {

template <bool Repaired>
ISOTOPE_KERNEL void meet(Team team, Vec<std::uint64_t, 1>* word) {
  const auto members = static_cast<std::uint64_t>(team.size());
  for (std::uint64_t round = 1; round <= 2; ++round) {
    isotope::fence(Order::release);
    multimem_reduce<ReduceOp::add>(team, word, Vec<std::uint64_t, 1>{{1}});
    if (!wait_until(this_thread(), team, &word->data[0], Cmp::ge, Repaired ? round * members : members)) return;
    if constexpr (!Repaired) store(&word->data[0], 0);
  }
}

template <bool Repaired>
void program(World& world) {
  auto word = world.alloc_zeroed<Vec<std::uint64_t, 1>>(1);
  world.launch<meet<Repaired>>({}, world.team(), word.data());
  world.synchronize();
}
CORPUS_CASE(2, "deadlock", "reset too early");

}  // namespace corpus::multicast_barrier_reused
