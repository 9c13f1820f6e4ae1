// Each waits until the other one's turn is over, and gives the turn back and forth for ever.
#include "corpus.hpp"

namespace corpus::livelock_of_two {

template <bool Repaired>
ISOTOPE_KERNEL void take_turns(Team team, std::uint64_t* turn) {
  const auto other = static_cast<std::uint64_t>(1 - team.rank());
  std::uint64_t* word = team.at(turn, 0);
  while (load(word) != 2) {
    store(word, Repaired ? 2 : other);
  }
}

template <bool Repaired>
void program(World& world) {
  auto turn = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<take_turns<Repaired>>({}, world.team(), turn.data());
  world.synchronize();
}
CORPUS_CASE(2, "livelock", "livelock");

}  // namespace corpus::livelock_of_two
