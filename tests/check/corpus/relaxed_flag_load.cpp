// The poll is relaxed and no fence follows it.
#include "corpus.hpp"

namespace corpus::relaxed_flag_load {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, int* data, std::uint64_t* flag) {
  if (team.rank() == 0) {
    *team.at(data, 1) = 7;
    store(team.at(flag, 1), 1, Order::release);
  } else {
    while (load(flag) == 0) {
    }
    if constexpr (Repaired) isotope::fence(Order::acquire);
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
CORPUS_CASE(2, "race", "acquire missing");

}  // namespace corpus::relaxed_flag_load
