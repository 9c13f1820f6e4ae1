// Each PE says that it wants to enter and looks whether the other one does. Without a sequentially consistent fence
// between, each may miss what the other said, and both enter.
#include "corpus.hpp"

namespace corpus::both_enter {

template <bool Repaired>
ISOTOPE_KERNEL void enter(Team team, std::uint64_t* wants, int* entered) {
  const int other = 1 - team.rank();
  store(&wants[team.rank()], 1, Order::release);
  if constexpr (Repaired) isotope::fence(Order::seq_cst);
  if (load(team.at(&wants[other], other), Order::acquire) == 0) *team.at(entered, 0) = team.rank();
}

template <bool Repaired>
void program(World& world) {
  auto wants = world.alloc_zeroed<std::uint64_t>(2);
  auto entered = world.alloc_zeroed<int>(1);
  world.launch<enter<Repaired>>({}, world.team(), wants.data(), entered.data());
  world.synchronize();
}
CORPUS_CASE(2, "race", "nothing orders them");

}  // namespace corpus::both_enter
