// The tile is filled again while slower threads still read what was there before.
#include "corpus.hpp"

namespace corpus::shared_memory_reused {

template <bool Repaired>
ISOTOPE_KERNEL void rotate(Span<int> data) {
  const Block block = this_block();
  ISOTOPE_SHARED(int[4], tile);
  for (int round = 0; round < 2; ++round) {
    tile[block.thread_rank()] = round;
    block.sync();
    data[block.thread_rank()] += tile[(block.thread_rank() + 1) % 4];
    if constexpr (Repaired) block.sync();
  }
}

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc_zeroed<int>(4);
  world.launch<rotate<Repaired>>({.block = 4}, data.span());
  world.synchronize();
}
CORPUS_CASE(1, "race", "block sync missing");

}  // namespace corpus::shared_memory_reused
