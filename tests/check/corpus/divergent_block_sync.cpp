// Half of the block is in a block sync, the other half in a warp sync of all.
#include "corpus.hpp"

namespace corpus::divergent_block_sync {

template <bool Repaired>
ISOTOPE_KERNEL void split(Span<int> data) {
  const Block block = this_block();
  data[block.thread_rank()] = 1;
  if (Repaired || block.thread_rank() < 4) {
    block.sync();
  } else {
    this_warp().sync();
  }
}

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc_zeroed<int>(8);
  world.launch<split<Repaired>>({.block = 8}, data.span());
  world.synchronize();
}
CORPUS_CASE(1, "deadlock", "barrier not reached by all threads");

}  // namespace corpus::divergent_block_sync
