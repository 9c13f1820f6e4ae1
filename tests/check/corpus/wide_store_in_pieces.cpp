// A value and its flag in one plain store of 16 bytes. It is one instruction, and still may be seen in pieces.
#include "corpus.hpp"

namespace corpus::wide_store_in_pieces {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Bits128* packet, std::uint64_t* received) {
  if (team.rank() == 0) {
    if constexpr (Repaired) {
      store16(team.at(packet, 1), {7, 1});
    } else {
      store_vec(&team.at(packet, 1)->low, Vec<std::uint64_t, 2>{{7, 1}});
    }
    return;
  }
  Bits128 seen{};
  while (seen.high == 0) {
    if constexpr (Repaired) {
      seen = load16(packet);
    } else {
      const Vec<std::uint64_t, 2> both = load_vec<2>(&packet->low);
      seen = {both[0], both[1]};
    }
  }
  *received = seen.low;
}

template <bool Repaired>
void program(World& world) {
  auto packet = world.alloc_zeroed<Bits128>(1);
  auto received = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<send<Repaired>>({}, world.team(), packet.data(), received.data());
  world.synchronize();
}
CORPUS_CASE(2, "race", "wide access in pieces");

}  // namespace corpus::wide_store_in_pieces
