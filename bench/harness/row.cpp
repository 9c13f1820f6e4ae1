#include "bench/harness/row.hpp"

#include <fmt/format.h>

#include <sstream>
#include <tuple>

#include "bench/harness/statistics.hpp"
#include "isotope/base/error.hpp"

namespace isotope::bench {

namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <>
Json or_null(const std::optional<double>& value) {
  return value ? Json(round_significant(*value)) : Json(nullptr);
}

template <class T>
std::optional<T> from_null(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
}

/// Bytes in that many seconds, in GB/s.
std::optional<double> bandwidth(const Row& row, double seconds) {
  if (!row.bus_factor || !row.bytes) return std::nullopt;
  return static_cast<double>(*row.bytes) / seconds * 1e-9;
}

std::optional<double> times(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::optional(*a * *b) : std::nullopt;
}

void append(Samples& to, const Samples& from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace

double in_unit(double seconds, const Row& row) {
  if (row.unit == "ns") return seconds * 1e9;
  if (row.unit == "us") return seconds * 1e6;
  if (row.unit == "ms") return seconds * 1e3;
  if (row.unit == "s") return seconds;
  if (row.unit == "Mops/s") return 1e-6 / seconds;
  if (row.unit == "GB/s" && row.bytes) return static_cast<double>(*row.bytes) / seconds * 1e-9;
  throw Error(Code::invalid_argument,
              fmt::format("row '{}' has unit '{}'{}; expected ns, us, ms, s, Mops/s, or GB/s with bytes", row.name,
                          row.unit, row.bytes ? "" : " and no bytes"));
}

double seconds_of(double value, const Row& row) {
  const double of_one = in_unit(1, row);
  const bool rate = row.unit == "Mops/s" || row.unit == "GB/s";
  return rate ? of_one / value : value / of_one;
}

bool same_case(const Row& a, const Row& b) {
  const auto key = [](const Row& r) {
    return std::tie(r.name, r.platform, r.pes, r.pes_as, r.bytes, r.blocks, r.algo, r.dtype, r.op);
  };
  return key(a) == key(b);
}

void merge(std::vector<Measurement>& all, const Measurement& more) {
  for (Measurement& one : all) {
    if (!same_case(one.row, more.row)) continue;
    append(one.ours, more.ours);
    append(one.limit, more.limit);
    for (const auto& [name, samples] : more.peers) append(one.peers[name], samples);
    return;
  }
  all.push_back(more);
}

void add_peer_samples(std::vector<Measurement>& all, const std::string& peer, int pes, const std::string& text) {
  std::istringstream lines(text);
  std::string name;
  std::uint64_t bytes = 0;
  double seconds = 0;
  while (lines >> name >> bytes >> seconds) {
    for (Measurement& one : all) {
      if (one.row.name != name || one.row.bytes.value_or(0) != bytes || one.row.pes != pes) continue;
      one.peers[peer].push_back(seconds);
    }
  }
}

std::vector<Row> rows_of(const Measurement& measurement) {
  Row base = measurement.row;
  const std::optional<double> ours = median(measurement.ours), limit = median(measurement.limit);
  if (ours) {
    base.ours = in_unit(*ours, base);
    base.algbw = bandwidth(base, *ours);
    base.busbw = times(base.algbw, base.bus_factor);
  }
  if (limit) base.limit = in_unit(*limit, base);
  if (!limit) base.limit_name.reset();
  if (ours && limit) base.limit_ratio = *limit / *ours;
  std::vector<Row> rows;
  for (const auto& [name, samples] : measurement.peers) {
    const std::optional<double> peer = median(samples);
    if (!peer) continue;
    Row row = base;
    row.peer = in_unit(*peer, base);
    row.peer_name = name;
    row.peer_algbw = bandwidth(row, *peer);
    row.peer_busbw = times(row.peer_algbw, row.bus_factor);
    if (ours) row.ratio = *peer / *ours;
    rows.push_back(row);
  }
  if (rows.empty()) rows.push_back(base);
  return rows;
}

Json to_json(const Row& row) {
  return {{"name", row.name},
          {"platform", row.platform},
          {"pes", row.pes},
          {"pes_as", row.pes_as},
          {"bytes", or_null(row.bytes)},
          {"blocks", or_null(row.blocks)},
          {"algo", or_null(row.algo)},
          {"dtype", or_null(row.dtype)},
          {"op", or_null(row.op)},
          {"ours", or_null(row.ours)},
          {"limit", or_null(row.limit)},
          {"limit_name", or_null(row.limit_name)},
          {"peer", or_null(row.peer)},
          {"peer_name", or_null(row.peer_name)},
          {"unit", row.unit},
          {"ratio", or_null(row.ratio)},
          {"limit_ratio", or_null(row.limit_ratio)},
          {"bus_factor", row.bus_factor ? Json(*row.bus_factor) : Json(nullptr)},  // a constant, so all its digits
          {"algbw", or_null(row.algbw)},
          {"busbw", or_null(row.busbw)},
          {"peer_algbw", or_null(row.peer_algbw)},
          {"peer_busbw", or_null(row.peer_busbw)}};
}

Json to_json(const Measurement& measurement) {
  Json peers = Json::object();
  for (const auto& [name, samples] : measurement.peers) peers[name] = samples;
  return {
      {"row", to_json(measurement.row)}, {"ours", measurement.ours}, {"limit", measurement.limit}, {"peers", peers}};
}

Measurement measurement_from_json(const Json& json) {
  const Json& row = json.at("row");
  Measurement result{.row = {.name = row.at("name").get<std::string>(),
                             .platform = row.at("platform").get<std::string>(),
                             .pes = row.at("pes").get<int>(),
                             .pes_as = row.at("pes_as").get<std::string>(),
                             .bytes = from_null<std::uint64_t>(row.at("bytes")),
                             .blocks = from_null<std::uint64_t>(row.at("blocks")),
                             .algo = from_null<std::string>(row.at("algo")),
                             .dtype = from_null<std::string>(row.at("dtype")),
                             .op = from_null<std::string>(row.at("op")),
                             .bus_factor = from_null<double>(row.at("bus_factor")),
                             .limit_name = from_null<std::string>(row.at("limit_name")),
                             .unit = row.at("unit").get<std::string>()},
                     .ours = json.at("ours").get<Samples>(),
                     .limit = json.at("limit").get<Samples>()};
  for (const auto& [name, samples] : json.at("peers").items()) result.peers[name] = samples.get<Samples>();
  return result;
}

}  // namespace isotope::bench
