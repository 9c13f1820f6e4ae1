// Runs of ranks are written as ranges, so that a list stays readable at any number of PEs.
#include "bootstrap/rank_list.hpp"

#include <fmt/format.h>

namespace isotope::bootstrap {

std::string rank_list(const std::vector<int>& ranks) {
  constexpr std::size_t kMostChars = 400;
  std::string text = ranks.size() == 1 ? "PE " : "PEs ";
  for (std::size_t i = 0; i < ranks.size();) {
    if (text.size() > kMostChars) return text + fmt::format(" and {} more", ranks.size() - i);
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (i > 0) text += ", ";
    text += fmt::format("{}", ranks[i]);
    if (last > i) text += fmt::format("{}{}", last == i + 1 ? ", " : "-", ranks[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace isotope::bootstrap
