#include "bench/harness/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace isotope::bench {

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double round_significant(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int places = digits - 1 - static_cast<int>(std::floor(std::log10(std::fabs(value))));
  const double scale = std::pow(10.0, std::abs(places));  // whole, so that 1234.0 comes out as 1234.0
  return places >= 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
}

}  // namespace isotope::bench
