// Two messages come before the receiver looks, and it waits for exactly one.
#include "corpus.hpp"

namespace corpus::equality_overshot {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Signal* flag) {
  const Thread self = this_thread();
  if (team.rank() == 0) {
    signal(self, team, flag, 1, SignalOp::add, 1);
    signal(self, team, flag, 1, SignalOp::add, 1);
  } else {
    wait_until(self, team, flag, Repaired ? Cmp::ge : Cmp::eq, 1);
  }
}

template <bool Repaired>
void program(World& world) {
  auto flag = world.alloc_zeroed<Signal>(1);
  world.launch<send<Repaired>>({}, world.team(), flag.data());
  world.synchronize();
}
CORPUS_CASE(2, "deadlock", "overshot");

}  // namespace corpus::equality_overshot
