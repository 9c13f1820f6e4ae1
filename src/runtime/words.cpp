#include "runtime/words.hpp"

#include <algorithm>

namespace isotope::runtime {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: swapped neighbours look back two.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::optional<std::string> nearest_word(std::string_view word, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    // A beginning counts as one mistake: the rest was left out.
    const bool beginning = word.size() >= 3 && candidate.starts_with(word);
    const std::size_t distance = beginning ? 1 : edit_distance(word, candidate);
    // A word of which every letter had to change is not near, however short it is.
    if (distance >= best_distance || distance >= std::max(word.size(), candidate.size())) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

}  // namespace isotope::runtime
