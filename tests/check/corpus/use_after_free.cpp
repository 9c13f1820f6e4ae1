// The object is given back while a kernel still has its address.
#include "corpus.hpp"

namespace corpus::use_after_free {

template <bool Repaired>
ISOTOPE_KERNEL void fill(Span<int> data) {
  data[this_block().thread_rank()] = 1;
}

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc_zeroed<int>(4);
  const Span<int> span = data.span();
  if constexpr (!Repaired) world.free(data);
  world.launch<fill<Repaired>>({.block = 4}, span);
  world.synchronize();
}
CORPUS_CASE(1, "use-after-free", "use after free");

}  // namespace corpus::use_after_free
