#include "bench/collectives/tuning.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace isotope::bench {

namespace {

constexpr double kNoise = 1.03;

std::size_t between(std::size_t a, std::size_t b) {
  return static_cast<std::size_t>(std::sqrt(static_cast<double>(a) * static_cast<double>(b)));
}

}  // namespace

std::vector<ChoiceRow> fastest_of(Collective collective, int pes, std::vector<Timing> timings) {
  std::map<std::size_t, std::vector<Timing>> by_size;
  for (const Timing& one : timings) by_size[one.bytes].push_back(one);
  std::vector<ChoiceRow> rows;
  std::size_t last = 0;
  for (const auto& [bytes, all] : by_size) {
    const auto faster = [](const Timing& a, const Timing& b) { return a.seconds < b.seconds; };
    const Timing best = *std::min_element(all.begin(), all.end(), faster);
    const auto still_good = [&](const Timing& one) {
      return !rows.empty() && one.algo == rows.back().algo && one.seconds <= best.seconds * kNoise;
    };
    if (!std::any_of(all.begin(), all.end(), still_good)) {
      if (!rows.empty()) rows.back().most_bytes = between(last, bytes);
      rows.push_back({collective, pes, kAnyBytes, best.algo});
    }
    last = bytes;
  }
  return rows;
}

std::vector<ChoiceRow> replace_rows(std::vector<ChoiceRow> before, const std::vector<ChoiceRow>& measured) {
  std::erase_if(before, [&](const ChoiceRow& old) {
    return std::any_of(measured.begin(), measured.end(),
                       [&](const ChoiceRow& now) { return now.collective == old.collective && now.pes == old.pes; });
  });
  before.insert(before.end(), measured.begin(), measured.end());
  std::stable_sort(before.begin(), before.end(), [](const ChoiceRow& a, const ChoiceRow& b) {
    return std::pair(a.collective, a.pes) < std::pair(b.collective, b.pes);
  });
  return before;
}

}  // namespace isotope::bench
