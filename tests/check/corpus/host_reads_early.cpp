// The host reads the result without waiting for the kernel.
#include "corpus.hpp"

namespace corpus::host_reads_early {

template <bool Repaired>
ISOTOPE_KERNEL void fill(Span<int> data) {
  data[this_block().thread_rank()] = 1;
}

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc_zeroed<int>(4);
  world.launch<fill<Repaired>>({.block = 4}, data.span());
  if constexpr (Repaired) world.synchronize();
  const int first = data[0];
  world.synchronize();
  if (first < 0 || (Repaired && first != 1)) throw Error(Code::internal, "the kernel wrote 1");
}
CORPUS_CASE(1, "race", "nothing orders them");

}  // namespace corpus::host_reads_early
