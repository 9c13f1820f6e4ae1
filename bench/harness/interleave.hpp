// The order in which contestants are measured.
//
//   alternate(3, rounds, [&](int who) { ... });    // 0 1 2, 1 2 0, 2 0 1, 0 1 2, ...
//
// All of them take a turn in each round, so what disturbs the machine for a while disturbs all alike. Who begins
// changes from round to round: nobody always runs behind the same neighbour's warm or cold caches.
#pragma once

#include <functional>

namespace isotope::bench {

void alternate(int contestants, int rounds, const std::function<void(int who)>& turn);

}  // namespace isotope::bench
