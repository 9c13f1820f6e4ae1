#include "bench/harness/plot.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace isotope::bench {

namespace {

std::string time_text(double us) {
  if (us < 1e3) return fmt::format("{:g} us", us);
  if (us < 1e6) return fmt::format("{:g} ms", us / 1e3);
  return fmt::format("{:g} s", us / 1e6);
}

std::string bandwidth_text(double gigabytes) { return fmt::format("{:g}", gigabytes); }

/// Adds a point to the series of that name, unless it has one of that size: each of our rows repeats its peer's.
void add(std::vector<Series>& all, const std::string& name, bool ours, double x, double y) {
  auto at = std::find_if(all.begin(), all.end(), [&](const Series& one) { return one.name == name; });
  if (at == all.end()) at = all.insert(all.end(), Series{.name = name, .ours = ours});
  const bool there =
      std::any_of(at->points.begin(), at->points.end(), [&](const auto& point) { return point.first == x; });
  if (!there) at->points.emplace_back(x, y);
}

}  // namespace

std::vector<ChartRow> charts_of(const std::vector<Row>& rows) {
  std::vector<ChartRow> all;
  for (const Row& row : rows) {
    if (!row.bytes) continue;
    const std::string title = fmt::format("{}, {} PEs as {}", row.name, row.pes, row.pes_as);
    auto at = std::find_if(all.begin(), all.end(), [&](const ChartRow& one) { return one.title == title; });
    if (at == all.end()) {
      const char* bandwidth = row.bus_factor ? "bus bandwidth, GB/s" : "bandwidth, GB/s";
      at = all.insert(all.end(), ChartRow{title,
                                          {{.y_label = "time", .y_text = time_text},
                                           {.y_label = bandwidth, .y_text = bandwidth_text}}});
    }
    const auto both = [&](const std::string& name, bool ours, const std::optional<double>& value) {
      if (!value) return;
      const auto bytes = static_cast<double>(*row.bytes);
      const double seconds = seconds_of(*value, row);
      add(at->charts[0].series, name, ours, bytes, seconds * 1e6);
      add(at->charts[1].series, name, ours, bytes, bytes / seconds * 1e-9 * row.bus_factor.value_or(1));
    };
    both(row.algo ? "Isotope, " + *row.algo : "Isotope", true, row.ours);
    if (row.peer_name) both(*row.peer_name, false, row.peer);
  }
  return all;
}

std::string plot(const std::vector<Row>& rows) { return svg_of(charts_of(rows)); }

}  // namespace isotope::bench
