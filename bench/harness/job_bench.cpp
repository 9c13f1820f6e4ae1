#include "bench/harness/job_bench.hpp"

#include <algorithm>
#include <fstream>
#include <thread>

#include "bench/harness/interleave.hpp"
#include "bench/harness/system.hpp"
#include "isotope/base/error.hpp"

namespace isotope::bench {

std::string JobRequest::text() const {
  return Json{{"topic", topic},
              {"platform", platform},
              {"threads", threads},
              {"rounds", rounds},
              {"block_ns", block.count()},
              {"results", results},
              {"algos", algos},
              {"sizes", sizes},
              {"quick", quick},
              {"alone", alone}}
      .dump();
}

JobRequest JobRequest::parse(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    return {.topic = json.at("topic").get<std::string>(),
            .platform = json.at("platform").get<std::string>(),
            .threads = json.at("threads").get<bool>(),
            .rounds = json.at("rounds").get<int>(),
            .block = std::chrono::nanoseconds(json.at("block_ns").get<std::int64_t>()),
            .results = json.at("results").get<std::string>(),
            .algos = json.at("algos").get<std::vector<std::string>>(),
            .sizes = json.at("sizes").get<std::vector<std::uint64_t>>(),
            .quick = json.at("quick").get<bool>(),
            .alone = json.at("alone").get<bool>()};
  } catch (const nlohmann::json::exception&) {
    throw Error(Code::invalid_argument,
                "isotope-bench is the part of `isotope bench` that runs inside a job; call that instead");
  }
}

bool JobBench::pin() {
  if (world_.size() > usable_cpus()) return false;
  pin_to_cpu(world_.rank());
  return true;
}

double JobBench::max_over_pes(double value) {
  if (!cell_) cell_ = std::make_unique<Symmetric<double>>(world_.alloc<double>(1));
  cell_->set(0, value);
  world_.barrier();
  const Team team = world_.team();
  double most = value;
  for (int pe = 0; pe < team.size(); ++pe) most = std::max(most, cell_->read_from(team, pe).front());
  world_.barrier();  // nobody writes the next value before all have read this one
  return most;
}

double JobBench::timed_block(const Contestant& contestant, long n, bool measured) {
  world_.barrier();
  // A CPU that slept until now, or served another contestant, is slow at first. The peers' programs do the same.
  if (measured) contestant.run(n);
  const auto start = std::chrono::steady_clock::now();
  contestant.run(n);
  const auto took = std::chrono::steady_clock::now() - start;
  // A PE that has no part in it sleeps. In the barrier it would poll at first, on a CPU that may be the other half of
  // the one that works.
  if (measured && took < request_.block / 10) std::this_thread::sleep_for(4 * request_.block);
  return max_over_pes(std::chrono::duration<double>(took).count());
}

const Measurement& JobBench::measure(Row row, std::vector<Contestant> contestants) {
  if (request_.alone) std::erase_if(contestants, [](const Contestant& one) { return one.role != Role::ours; });
  row.platform = request_.platform;
  row.pes = world_.size();
  row.pes_as = request_.threads ? "threads" : "processes";
  Measurement measurement{.row = row};

  constexpr long kMost = 1L << 30;
  const double enough = std::chrono::duration<double>(request_.block).count();
  std::vector<long> counts;
  for (const Contestant& contestant : contestants) {
    // Long enough three times over: once may only mean that somebody else had the core.
    const auto long_enough = [&](long n) {
      for (int i = 0; i < 3; ++i) {
        if (timed_block(contestant, n, false) < enough) return false;
      }
      return true;
    };
    long n = contestant.step;
    while (n < kMost && !long_enough(n)) n *= 2;
    counts.push_back(n);
  }

  alternate(static_cast<int>(contestants.size()), request_.rounds, [&](int who) {
    const Contestant& contestant = contestants[static_cast<std::size_t>(who)];
    const long n = counts[static_cast<std::size_t>(who)];
    const double each = time(contestant, n);
    switch (contestant.role) {
      case Role::ours:
        measurement.ours.push_back(each);
        break;
      case Role::limit:
        measurement.limit.push_back(each);
        break;
      case Role::peer:
        measurement.peers[contestant.name].push_back(each);
        break;
    }
  });
  return measurements_.emplace_back(std::move(measurement));
}

void JobBench::write_results() const {
  if (world_.rank() != 0) return;
  Json all = Json::array();
  for (const Measurement& one : measurements_) all.push_back(to_json(one));
  std::ofstream file(request_.results, std::ios::trunc);
  file << Json{{"measurements", all}, {"extra", extra_}}.dump();
  file.close();
  if (!file) throw Error(Code::system, "isotope-bench cannot write its results to " + request_.results);
}

}  // namespace isotope::bench
