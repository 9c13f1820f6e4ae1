// Memory from alloc holds nothing until someone writes it.
#include "corpus.hpp"

namespace corpus::never_written {

template <bool Repaired>
ISOTOPE_KERNEL void add_one(Span<int> data) {
  data[this_block().thread_rank()] += 1;
}

template <bool Repaired>
void program(World& world) {
  auto data = Repaired ? world.alloc_zeroed<int>(4) : world.alloc<int>(4);
  world.launch<add_one<Repaired>>({.block = 4}, data.span());
  world.synchronize();
}
CORPUS_CASE(1, "uninitialised", "never written");

}  // namespace corpus::never_written
