#include "bench/collectives/measure.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "bench/harness/report.hpp"
#include "bench/harness/statistics.hpp"
#include "isotope/base/error.hpp"

namespace isotope::bench {

namespace {

void refuse_mistake(JobBench& bench, const Row& row, const std::optional<Mistake>& mistake) {
  if (bench.max_over_pes(mistake ? 1 : 0) == 0) return;
  const std::string which =
      fmt::format("{} of {} by {}, {} PEs", row.name, bytes_text(*row.bytes), *row.algo, bench.world().size());
  if (!mistake) throw Error(Code::internal, fmt::format("{}: the result is wrong on another PE", which));
  throw Error(Code::internal, fmt::format("{}: the result is wrong: element {} on PE {} is {}, expected {}", which,
                                          mistake->index, bench.world().rank(), mistake->found, mistake->expected));
}

class Measuring {
 public:
  Measuring(JobBench& bench, const CollectiveCase& one, Rig& rig)
      : bench_(bench),
        case_(one),
        rig_(rig),
        calls_{Role::ours, "", [&rig](long n) { rig.call(n); }, rig.step()},
        copies_{Role::limit, "", [&rig](long n) { rig.copy(n); }, rig.step()} {}

  /// A row. Whether the algorithm has fallen behind: the same on every PE, since times are those of the slowest.
  bool measure(const std::string& algo, std::size_t count) {
    const int pes = bench_.world().size();
    const Row row{.name = case_.topic,
                  .bytes = bytes_of(case_, count, pes),
                  .algo = algo,
                  .dtype = "f32",
                  .op = case_.sums ? std::optional<std::string>("add") : std::nullopt,
                  .bus_factor = case_.bus_factor(pes),
                  .limit_name = rig_.copy_name()};
    rig_.prepare(case_, count, How{.algo = algo_named(algo)});
    check(row, count);
    const Measurement measured = bench_.measure(row, {calls_, copies_});
    check(row, count);  // after thousands of calls too
    const double call = *median(measured.ours);
    if (!rig_.drops_laggards() || !falls_behind(call, 0)) return false;
    return falls_behind(call, measured.limit.empty() ? bench_.time(copies_, copies_.step) : *median(measured.limit));
  }

 private:
  void check(const Row& row, std::size_t count) {
    World& world = bench_.world();
    rig_.poison();
    world.barrier();  // nobody writes into what is not poisoned yet
    rig_.call(rig_.step());
    refuse_mistake(bench_, row, first_mistake(case_, rig_.result(), count, world.rank(), world.size()));
  }

  JobBench& bench_;
  const CollectiveCase& case_;
  Rig& rig_;
  Contestant calls_, copies_;
};

}  // namespace

void measure_collective(JobBench& bench, const CollectiveCase& one, const std::vector<std::uint64_t>& sizes, Rig& rig) {
  const int pes = bench.world().size();
  Measuring measuring(bench, one, rig);
  std::vector<std::string> algos = bench.request().algos;
  for (const std::uint64_t bytes : sizes) {
    const std::size_t count = count_of(one, bytes, pes);
    if (count == 0) continue;
    std::vector<std::string> left;
    for (const std::string& algo : algos) {
      if (!measuring.measure(algo, count)) {
        left.push_back(algo);
      } else if (bytes != sizes.back()) {
        bench.extra()["notes"].push_back(fmt::format("{} on {} PEs by {} is left out above {}: too slow for more",
                                                     one.topic, pes, algo, bytes_text(bytes_of(one, count, pes))));
      }
    }
    algos = std::move(left);
  }
}

}  // namespace isotope::bench
