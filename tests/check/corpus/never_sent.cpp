// PE 0 takes a way out that skips the signal.
#include "corpus.hpp"

namespace corpus::never_sent {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Signal* flag, int work) {
  const Block block = this_block();
  if (team.rank() == 1) {
    wait_until(block, team, flag, Cmp::ge, 1);
  } else if (Repaired || work != 0) {
    signal(block, team, flag, 1, SignalOp::set, 1);
  }
}

template <bool Repaired>
void program(World& world) {
  auto flag = world.alloc_zeroed<Signal>(1);
  world.launch<send<Repaired>>({.block = 2}, world.team(), flag.data(), world.rank());
  world.synchronize();
}
CORPUS_CASE(2, "deadlock", "never sent");

}  // namespace corpus::never_sent
