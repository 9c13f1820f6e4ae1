// A multicast store lands on each PE at its own time. The flag, a multicast store too, may land first.
#include "corpus.hpp"

#undef NDEBUG
#include <cassert>

namespace corpus::multicast_lands_late {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Vec<std::uint64_t, 1>* value, Vec<std::uint64_t, 1>* flag) {
  if (team.rank() == 0) {
    multimem_store(team, value, Vec<std::uint64_t, 1>{{7}});
    if constexpr (Repaired) isotope::fence(Order::release);
    multimem_store(team, flag, Vec<std::uint64_t, 1>{{1}});
  }
  if (!wait_until(this_thread(), team, &flag->data[0], Cmp::ge, 1)) return;
  assert(load(&value->data[0]) == 7);
}

template <bool Repaired>
void program(World& world) {
  auto value = world.alloc_zeroed<Vec<std::uint64_t, 1>>(1), flag = world.alloc_zeroed<Vec<std::uint64_t, 1>>(1);
  world.launch<send<Repaired>>({}, world.team(), value.data(), flag.data());
  world.synchronize();
}
CORPUS_CASE(3, "failure", "assertion failed");

}  // namespace corpus::multicast_lands_late
