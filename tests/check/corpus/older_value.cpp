// Everything is atomic, so nothing races: but who has seen the flag may still see the value from before.
#include "corpus.hpp"

#undef NDEBUG
#include <cassert>

namespace corpus::older_value {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, std::uint64_t* value, std::uint64_t* flag) {
  if (team.rank() == 0) {
    store(team.at(value, 1), 7);
    store(team.at(flag, 1), 1, Order::release);
  } else {
    while (load(flag, Repaired ? Order::acquire : Order::relaxed) == 0) {
    }
    assert(load(value) == 7);
  }
}

template <bool Repaired>
void program(World& world) {
  auto value = world.alloc_zeroed<std::uint64_t>(1), flag = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<send<Repaired>>({}, world.team(), value.data(), flag.data());
  world.synchronize();
}
CORPUS_CASE(2, "failure", "assertion failed");

}  // namespace corpus::older_value
