// Charts of lines over two logarithmic axes, as SVG: plain, no script, opens in any browser.
//
//   svg_of({{"8 PEs", {{.y_label = "time", .y_text = time_text, .series = {{"ours", true, {{1024, 3.5}, {8192,
//   9}}}}}}}});
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace isotope::bench {

struct Series {
  std::string name;
  bool ours = true;                                    // drawn through; else dashed
  std::vector<std::pair<double, double>> points = {};  // both above 0
};

/// One pair of axes: x is a size in bytes.
struct Chart {
  std::string y_label;
  std::string (*y_text)(double value);  // at a tick
  std::vector<Series> series = {};
};

/// Charts side by side, of the same series; one legend for all of them, from the first.
struct ChartRow {
  std::string title;
  std::vector<Chart> charts = {};
};

std::string svg_of(const std::vector<ChartRow>& rows);

/// Values to mark on a logarithmic axis that holds `least` to `most`: 1, 2 and 5 times powers of ten, or powers of ten
/// alone where these would be many. The first is at most `least`, the last at least `most`.
std::vector<double> log_ticks(double least, double most);

}  // namespace isotope::bench
