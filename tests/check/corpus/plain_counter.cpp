// Blocks count in one word with a plain increment.
#include "corpus.hpp"

namespace corpus::plain_counter {

template <bool Repaired>
ISOTOPE_KERNEL void count(std::uint64_t* counter) {
  if constexpr (Repaired) {
    fetch_add(counter, 1, Order::relaxed, Scope::device);
  } else {
    *counter += 1;
  }
}

template <bool Repaired>
void program(World& world) {
  auto counter = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<count<Repaired>>({.grid = 2}, counter.data());
  world.synchronize();
}
CORPUS_CASE(1, "race", "nothing orders them");

}  // namespace corpus::plain_counter
