// Lamport with -0.0 as "nothing yet", and a payload that is -0.0.
#include "corpus.hpp"

namespace corpus::negative_zero_payload {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, std::uint32_t* slot, float value) {
  constexpr std::uint32_t kNothing = 0x80000000u;
  if (team.rank() == 0) {
    std::uint32_t bits = bit_cast<std::uint32_t>(value);
    if (Repaired && bits == kNothing) bits = 0;  // +0.0 is the same number
    store(team.at(slot, 1), bits);
  } else {
    while (load(slot) == kNothing) {
    }
  }
}

template <bool Repaired>
void program(World& world) {
  auto slot = world.alloc_zeroed<std::uint32_t>(1);
  slot[0] = 0x80000000u;
  world.barrier();
  world.launch<send<Repaired>>({}, world.team(), slot.data(), -0.0f);
  world.synchronize();
}
CORPUS_CASE(2, "deadlock", "never sent");

}  // namespace corpus::negative_zero_payload
