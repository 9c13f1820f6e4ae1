// Row: one line of a report. Measurement: the samples it is made of.
//
// Samples are always seconds per operation, so a ratio is a ratio of times, above 1 where ours is better,
// whatever the unit.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace isotope::bench {

using Json = nlohmann::ordered_json;  // keys stay in the order they were written
using Samples = std::vector<double>;

/// What does not apply is empty, and null in JSON.
struct Row {
  std::string name;
  std::string platform = "cpu";
  int pes = 1;
  std::string pes_as = "processes";  // or "threads"
  std::optional<std::uint64_t> bytes = {};
  std::optional<std::uint64_t> blocks = {};
  std::optional<std::string> algo = {}, dtype = {}, op = {};
  /// Of a collective: how many bytes cross the links of an ideal machine for each of `bytes`. Rows that have it get
  /// bandwidths besides the time.
  std::optional<double> bus_factor = {};
  std::optional<double> ours = {};
  std::optional<double> limit = {};
  std::optional<std::string> limit_name = {};
  std::optional<double> peer = {};
  std::optional<std::string> peer_name = {};
  std::string unit = "us";
  std::optional<double> ratio = {};        // against the peer
  std::optional<double> limit_ratio = {};  // against the limit
  // In GB/s, as nccl-tests has them: bytes a second, and that times the bus factor.
  std::optional<double> algbw = {}, busbw = {}, peer_algbw = {}, peer_busbw = {};
};

/// `ns`, `us`, `ms`, `s`; `GB/s` (of row.bytes); `Mops/s`. Throws Error(invalid_argument) for another unit, or for
/// GB/s of no bytes.
double in_unit(double seconds, const Row& row);

/// The other way: from what in_unit gave.
double seconds_of(double value, const Row& row);

struct Measurement {
  Row row;  // what was measured; the results are still empty
  Samples ours = {}, limit = {};
  std::map<std::string, Samples> peers = {};
};

/// Whether both are about the same thing, so that their samples belong together.
bool same_case(const Row& a, const Row& b);
/// Adds the samples to those of the same case, or as a new case at the end.
void merge(std::vector<Measurement>& all, const Measurement& more);
/// Adds what a foreign peer wrote, lines "name bytes seconds" with 0 bytes where a case has none, to the cases of that
/// name, size and number of PEs. Other lines are passed over.
void add_peer_samples(std::vector<Measurement>& all, const std::string& peer, int pes, const std::string& text);
/// One row per peer; one without a peer when there is none.
std::vector<Row> rows_of(const Measurement& measurement);

Json to_json(const Row& row);
Json to_json(const Measurement& measurement);
Measurement measurement_from_json(const Json& json);

}  // namespace isotope::bench
