// Only the first half of the tile is filled.
#include "corpus.hpp"

namespace corpus::shared_memory_never_written {

template <bool Repaired>
ISOTOPE_KERNEL void sum(Span<int> data) {
  const Block block = this_block();
  ISOTOPE_SHARED(int[8], tile);
  for (std::uint32_t i = block.thread_rank(); i < (Repaired ? 8u : 4u); i += block.size()) tile[i] = 1;
  block.sync();
  for (int i = 0; i < 8; ++i) data[block.thread_rank()] += tile[i];
}

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc_zeroed<int>(4);
  world.launch<sum<Repaired>>({.block = 4}, data.span());
  world.synchronize();
}
CORPUS_CASE(1, "uninitialised", "never written");

}  // namespace corpus::shared_memory_never_written
