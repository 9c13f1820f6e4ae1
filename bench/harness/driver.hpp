// The driver: runs a topic from outside of any job, and turns samples into rows. `isotope bench` is a thin face of it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/job_bench.hpp"
#include "bench/harness/progress.hpp"
#include "bench/harness/row.hpp"
#include "bench/harness/system.hpp"
#include "bench/harness/topic.hpp"

namespace isotope::bench {

struct Options {
  std::optional<int> pes = {};                                // else what the topic says
  bool threads = false;                                       // PEs are threads
  std::optional<int> repeats = {};                            // rounds; else what the topic says
  bool quick = false;                                         // shows that it works; the numbers mean little
  std::string platform = "cpu";                               // of our jobs; "cuda" after require_gpu (platform.hpp)
  std::vector<std::string> algos = {};                        // of the topic's
  std::vector<std::uint64_t> sizes = {};                      // else what the topic says
  bool alone = false;                                         // ours only: no peers, no limit
  std::optional<int> turns = {};                              // jobs of each contestant; else what the topic says
  std::optional<std::chrono::nanoseconds> block = {};         // how long a block is at least
  std::vector<std::pair<std::string, std::string>> env = {};  // of our jobs
  std::string command = "bench";                              // what progress is reported as
};

class Driver {
 public:
  Driver(const Topic& topic, const Options& options);

  /// Everything the topic measures.
  std::vector<Row> run();

  // For topics that replace drive():
  const Options& options() const { return options_; }
  std::vector<int> pes() const;
  int rounds() const;
  Progress& progress() { return progress_; }
  /// Runs one job of our topic, with these algorithms where it has some, and returns what PE 0 wrote. Throws Error when
  /// the job fails.
  Json run_job(int pes, bool threads, int rounds, const std::vector<std::string>& algos = {});
  /// Runs a peer that is available. A failure is told once on standard error, and gives nothing.
  std::optional<std::string> run_foreign_peer(const ForeignPeer& peer, int pes,
                                              const std::vector<std::string>& arguments = {});
  void add(const Measurement& measurement) { merge(measurements_, measurement); }
  /// Those of the topic that are available, of the same platform: on GPUs none.
  std::vector<ForeignPeer> peers_here() const;

  /// The default drive().
  void alternate_with_peers();

 private:
  /// Which of the algorithms our jobs measure, a turn each.
  std::vector<std::vector<std::string>> algorithms_by_job() const;
  /// What a job said besides its numbers, unless somebody has read it already.
  void print_notes(const Json& extra);

  const Topic& topic_;
  Options options_;
  Progress progress_;
  SharedFile results_;
  std::vector<Measurement> measurements_;
  std::vector<std::string> complained_, noted_;
};

}  // namespace isotope::bench
