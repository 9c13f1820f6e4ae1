#include "bench/harness/interleave.hpp"

namespace isotope::bench {

void alternate(int contestants, int rounds, const std::function<void(int who)>& turn) {
  for (int round = 0; round < rounds; ++round) {
    for (int place = 0; place < contestants; ++place) turn((round + place) % contestants);
  }
}

}  // namespace isotope::bench
