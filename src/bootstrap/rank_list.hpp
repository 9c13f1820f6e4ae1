// Sets of ranks in messages: "PE 3", "PEs 0-2, 7".
#pragma once

#include <string>
#include <vector>

namespace isotope::bootstrap {

/// `ranks` in ascending order. Very long lists are cut and say how many more there are.
std::string rank_list(const std::vector<int>& ranks);

}  // namespace isotope::bootstrap
