// A fence at device scope before a flag that a peer reads.
#include "corpus.hpp"

namespace corpus::device_scope_fence {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, int* data, std::uint64_t* flag) {
  if (team.rank() == 0) {
    *team.at(data, 1) = 7;
    isotope::fence(Order::release, Repaired ? Scope::system : Scope::device);
    store(team.at(flag, 1), 1);
  } else {
    while (load(flag, Order::acquire) == 0) {
    }
    data[0] += 1;
  }
}

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc_zeroed<int>(1);
  auto flag = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<send<Repaired>>({}, world.team(), data.data(), flag.data());
  world.synchronize();
}
CORPUS_CASE(2, "race", "scope too narrow");

}  // namespace corpus::device_scope_fence
