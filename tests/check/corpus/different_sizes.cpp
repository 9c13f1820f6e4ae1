// PEs allocate different sizes in one collective call.
#include "corpus.hpp"

namespace corpus::different_sizes {

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc<int>(Repaired ? 4 : 4 + static_cast<std::size_t>(world.rank()));
}
CORPUS_CASE(2, "error", "error");

}  // namespace corpus::different_sizes
