// Rows as a picture: size against time and against bandwidth, ours and the peers.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/chart.hpp"
#include "bench/harness/row.hpp"

namespace isotope::bench {

/// One row of charts for each benchmark and number of PEs; rows without bytes are left out. Bandwidth is the bus
/// bandwidth where a row has one.
std::vector<ChartRow> charts_of(const std::vector<Row>& rows);

/// The same as SVG.
std::string plot(const std::vector<Row>& rows);

}  // namespace isotope::bench
