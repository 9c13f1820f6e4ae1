// The destination of a put is memory that only this PE has.
#include "corpus.hpp"

namespace corpus::pointer_not_symmetric {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, int* to, int* from) {
  put(this_thread(), team, Span<int>(to, 1), Span<const int>(from, 1), (team.rank() + 1) % team.size());
}

template <bool Repaired>
void program(World& world) {
  auto here = world.alloc_zeroed<int>(2);
  std::vector<int> local(1);
  world.launch<send<Repaired>>({}, world.team(), Repaired ? &here[0] : local.data(), &here[1]);
  world.synchronize();
}
CORPUS_CASE(2, "bad-argument", "dst lies in no symmetric object");

}  // namespace corpus::pointer_not_symmetric
