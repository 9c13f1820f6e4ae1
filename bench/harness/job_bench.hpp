// Measuring inside a job, on every PE at once.
//
//   bench.measure({.name = "alloc", .bytes = 4096, .limit_name = "two barriers"},
//                 {{Role::ours, "", [&](long n) { ... n times ... }}, {Role::limit, "", ...}});
//
// First each contestant's count is doubled until a block of it is long enough for the clock. Then all take turns, a
// block each. A block's time is that of the slowest PE, so that it means the same for work that PEs do together and for
// work they do side by side.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/row.hpp"
#include "isotope/host/symmetric.hpp"
#include "isotope/host/world.hpp"

namespace isotope::bench {

enum class Role { ours, limit, peer };

struct Contestant {
  Role role;
  std::string name;                 // of a peer
  std::function<void(long n)> run;  // performs n operations
  long step = 1;                    // n is a multiple of it
};

/// What the driver tells a job.
struct JobRequest {
  std::string topic;
  std::string platform = "cpu";
  bool threads = false;
  int rounds = 1;
  std::chrono::nanoseconds block{2'000'000};
  std::string results;                    // the file that PE 0 writes
  std::vector<std::string> algos = {};    // of the topic's; empty where it has none
  std::vector<std::uint64_t> sizes = {};  // in bytes; empty: the topic's own
  bool quick = false;                     // shows that it works; the numbers mean little
  bool alone = false;                     // ours, and no limit beside it

  std::string text() const;
  static JobRequest parse(const std::string& text);
};

class JobBench {
 public:
  JobBench(World& world, const JobRequest& request) : world_(world), request_(request) {}

  World& world() { return world_; }
  const JobRequest& request() const { return request_; }
  /// Fills in platform, pes and pes_as. What came of it, for topics that go by it; good until the next one.
  const Measurement& measure(Row row, std::vector<Contestant> contestants);
  /// Collective: seconds of one of n operations, on the slowest PE. For what is no row.
  double time(const Contestant& contestant, long n) {
    return timed_block(contestant, n, true) / static_cast<double>(n);
  }
  /// Keeps each PE on a CPU of its own, if there are as many, so that what two PEs exchange crosses between two CPUs.
  /// Whether there are.
  bool pin();
  /// Collective: the largest of the PEs' values, on every PE.
  double max_over_pes(double value);
  /// All that measure() has made.
  const std::vector<Measurement>& measurements() const { return measurements_; }
  /// What PE 0 writes for the driver, besides the measurements. "notes": sentences that `isotope bench` prints, each
  /// once.
  Json& extra() { return extra_; }
  /// The end, on every PE.
  void write_results() const;

 private:
  /// `measured`: after as long a block that does not count; PEs that had nothing to do sleep through both.
  double timed_block(const Contestant& contestant, long n, bool measured);

  World& world_;
  const JobRequest& request_;
  std::unique_ptr<Symmetric<double>> cell_;  // made when first needed: `startup` measures what comes before it
  std::vector<Measurement> measurements_;
  Json extra_ = Json::object();
};

}  // namespace isotope::bench
