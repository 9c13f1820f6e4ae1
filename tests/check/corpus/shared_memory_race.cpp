// A neighbour's element of shared memory is read before all have written theirs.
#include "corpus.hpp"

namespace corpus::shared_memory_race {

template <bool Repaired>
ISOTOPE_KERNEL void rotate(Span<int> data) {
  const Block block = this_block();
  ISOTOPE_SHARED(int[8], tile);
  tile[block.thread_rank()] = 0;
  block.sync();
  tile[block.thread_rank()] = data[block.thread_rank()];
  if constexpr (Repaired) block.sync();
  data[block.thread_rank()] = tile[(block.thread_rank() + 1) % 8];
}

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc_zeroed<int>(8);
  world.launch<rotate<Repaired>>({.block = 8}, data.span());
  world.synchronize();
}
CORPUS_CASE(1, "race", "block sync missing");

}  // namespace corpus::shared_memory_race
