// The receiver takes the flag back to 0. A sender that is a round ahead has set it already, and that is lost.
#include "corpus.hpp"

namespace corpus::flag_reset_by_cas {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, std::uint64_t* flag) {
  for (std::uint64_t round = 1; round <= 2; ++round) {
    if (team.rank() == 0) {
      store(team.at(flag, 1), Repaired ? round : 1, Order::release);
    } else {
      if (!wait_until(this_thread(), team, flag, Cmp::ge, Repaired ? round : 1)) return;
      std::uint64_t expected = 1;
      if constexpr (!Repaired) compare_exchange(flag, expected, 0);
    }
  }
}

template <bool Repaired>
void program(World& world) {
  auto flag = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<send<Repaired>>({}, world.team(), flag.data());
  world.synchronize();
}
CORPUS_CASE(2, "deadlock", "reset too early");

}  // namespace corpus::flag_reset_by_cas
