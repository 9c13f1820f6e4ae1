// The little statistics a benchmark needs. Medians: one disturbed round does not move them.
#pragma once

#include <optional>
#include <vector>

namespace isotope::bench {

/// The middle value, the mean of the two middle ones for an even count; nothing for no values.
std::optional<double> median(std::vector<double> values);

/// To this many digits: no measurement here carries more than four.
double round_significant(double value, int digits = 4);

}  // namespace isotope::bench
