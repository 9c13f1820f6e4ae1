// A value and its flag in one multicast store of 16 bytes: each element is whole, the vector is not.
#include "corpus.hpp"

#undef NDEBUG
#include <cassert>

namespace corpus::multicast_in_pieces {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Vec<std::uint64_t, 2>* message) {
  using Pair = Vec<std::uint64_t, 2>;
  if (team.rank() == 0) {
    if constexpr (Repaired) {
      multimem_store(team, message, Pair{{7, 0}});
      isotope::fence(Order::release);
    }
    multimem_store(team, message, Pair{{7, 1}});
  }
  if (!wait_until(this_thread(), team, &message->data[1], Cmp::ge, 1)) return;
  assert(load(&message->data[0]) == 7);
}

template <bool Repaired>
void program(World& world) {
  auto message = world.alloc_zeroed<Vec<std::uint64_t, 2>>(1);
  world.launch<send<Repaired>>({}, world.team(), message.data());
  world.synchronize();
}
CORPUS_CASE(2, "failure", "assertion failed");

}  // namespace corpus::multicast_in_pieces
