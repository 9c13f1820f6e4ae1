// The receiver acquires at device scope what another PE has released.
#include "corpus.hpp"

namespace corpus::device_scope_acquire {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, int* data, std::uint64_t* flag) {
  if (team.rank() == 0) {
    *team.at(data, 1) = 7;
    store(team.at(flag, 1), 1, Order::release);
  } else {
    while (load(flag, Order::acquire, Repaired ? Scope::system : Scope::device) == 0) {
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

}  // namespace corpus::device_scope_acquire
