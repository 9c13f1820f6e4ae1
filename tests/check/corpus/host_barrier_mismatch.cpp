// One PE calls a collective once more than the others.
#include "corpus.hpp"

namespace corpus::host_barrier_mismatch {

template <bool Repaired>
void program(World& world) {
  world.barrier();
  if (Repaired || world.rank() == 0) world.barrier();
}
CORPUS_CASE(2, "deadlock", "different collectives");

}  // namespace corpus::host_barrier_mismatch
