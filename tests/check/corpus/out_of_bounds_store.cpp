// One element past the end of the peer's array.
#include "corpus.hpp"

namespace corpus::out_of_bounds_store {

template <bool Repaired>
ISOTOPE_KERNEL void fill(Team team, Span<int> data) {
  int* theirs = team.at(data.data(), (team.rank() + 1) % team.size());
  for (std::size_t i = 0; Repaired ? i < data.size() : i <= data.size(); ++i) theirs[i] = 1;
}

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc_zeroed<int>(5);
  world.launch<fill<Repaired>>({}, world.team(), data.span());
  world.synchronize();
}
CORPUS_CASE(2, "out-of-bounds", "out of bounds");

}  // namespace corpus::out_of_bounds_store
