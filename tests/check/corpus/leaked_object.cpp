// One PE keeps an object for ever.
#include "corpus.hpp"

namespace corpus::leaked_object {

template <bool Repaired>
void program(World& world) {
  auto data = world.alloc<int>(4);
  if (!Repaired && world.rank() == 1) new Symmetric<int>(std::move(data));
}
CORPUS_CASE(2, "leak", "leak");

}  // namespace corpus::leaked_object
