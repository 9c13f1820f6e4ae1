// A put that is longer than its destination.
#include "corpus.hpp"

namespace corpus::put_past_the_end {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Span<int> to, Span<int> from) {
  put_bytes(this_block(), team, to.data(), from.data(), Repaired ? to.size_bytes() : from.size_bytes(), 0);
}

template <bool Repaired>
void program(World& world) {
  auto to = world.alloc_zeroed<int>(4), from = world.alloc_zeroed<int>(8);
  if (world.rank() == 1) world.launch<send<Repaired>>({.block = 2}, world.team(), to.span(), from.span());
  world.synchronize();
}
CORPUS_CASE(2, "bad-argument", "dst reaches past the end of its symmetric object");

}  // namespace corpus::put_past_the_end
