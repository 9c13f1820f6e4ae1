// The signal goes to the wrong neighbour.
#include "corpus.hpp"

namespace corpus::sent_to_the_wrong_pe {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Signal* flag) {
  const Thread self = this_thread();
  if (team.rank() == 0) signal(self, team, flag, 1, SignalOp::set, Repaired ? 2 : 1);
  if (team.rank() == 2) wait_until(self, team, flag, Cmp::ge, 1);
}

template <bool Repaired>
void program(World& world) {
  auto flag = world.alloc_zeroed<Signal>(1);
  world.launch<send<Repaired>>({}, world.team(), flag.data());
  world.synchronize();
}
CORPUS_CASE(3, "deadlock", "sent to the wrong PE");

}  // namespace corpus::sent_to_the_wrong_pe
