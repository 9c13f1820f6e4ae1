// Two kernels on two streams, and no event between them.
#include "corpus.hpp"

namespace corpus::streams_not_ordered {

template <bool Repaired>
ISOTOPE_KERNEL void add_one(Span<int> data) {
  data[this_block().thread_rank()] += 1;
}

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc_zeroed<int>(2);
  Stream other = world.create_stream();
  world.launch<add_one<Repaired>>({.block = 2}, data.span());
  if constexpr (Repaired) other.wait(world.stream().record());
  world.launch<add_one<Repaired>>({.block = 2, .stream = other}, data.span());
  world.synchronize();
}
CORPUS_CASE(1, "race", "nothing orders them");

}  // namespace corpus::streams_not_ordered
