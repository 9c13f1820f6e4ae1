// allreduce, allgather, reducescatter, alltoall, broadcast: calls from the host, one after the other, with nothing in
// between.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bench/collectives/cases.hpp"
#include "bench/harness/job_bench.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/topic.hpp"
#include "bench/peers/collective_sizes.h"
#include "bench/topics/device_peers.hpp"
#include "bench/topics/raw.hpp"
#include "isotope/base/error.hpp"

namespace isotope::bench {
namespace {

constexpr std::uint64_t kSizes[] = COLLECTIVE_SIZES;

class CollectiveTopic : public Topic {
 public:
  explicit CollectiveTopic(const CollectiveCase& one) : case_(one) {}

  std::string name() const override { return case_.topic; }
  std::string summary() const override { return case_.summary; }
  std::vector<int> default_pes() const override { return {2, 4, 8}; }
  int default_repeats() const override { return 15; }
  bool has_sizes() const override { return true; }
  std::vector<std::string> algorithms() const override { return algorithm_names(case_.collective); }
  std::vector<ForeignPeer> foreign_peers() const override {
    return {mpi_collective_peer("Open MPI", Launcher::open_mpi, "mpi_collective_openmpi", name()),
            mpi_collective_peer("MPICH", Launcher::mpich, "mpi_collective_mpich", name())};
  }

  void measure(JobBench& bench) const override {
    bench.pin();
    World& world = bench.world();
    const int me = world.rank(), pes = world.size();
    const std::vector<std::uint64_t> sizes = sizes_of(bench.request());
    const std::size_t most = *std::max_element(sizes.begin(), sizes.end()) / sizeof(float);
    auto src = world.alloc<float>(most), dst = world.alloc<float>(most);
    for (std::size_t i = 0; i < most; ++i) src[i] = source_value(me, i);
    std::memset(dst.data(), 0, most * sizeof(float));  // makes the pages
    Collectives collectives(world);
    const How how{.algo = algo_named(bench.request().algo)};
    const float* neighbour = world.team().at(src.data(), (me + 1) % pes);

    for (const std::uint64_t wanted : sizes) {
      const std::size_t count = count_of(case_, wanted, pes);
      if (count == 0) continue;
      const auto ours = [&](long n) {
        for (; n > 0; --n) case_.call(collectives, dst.data(), src.data(), count, how);
      };
      const std::size_t result_bytes = result_count(case_, count, pes) * sizeof(float);
      const auto limit = [&](long n) {
        for (; n > 0; --n) {
          std::memcpy(dst.data(), neighbour, result_bytes);
          keep_memory();
        }
      };
      const Row row{.name = name(),
                    .bytes = bytes_of(case_, count, pes),
                    .algo = bench.request().algo,
                    .dtype = "f32",
                    .op = case_.sums ? std::optional<std::string>("add") : std::nullopt,
                    .bus_factor = case_.bus_factor(pes),
                    .limit_name = "memcpy"};
      const auto check = [&] {
        std::memset(dst.data(), 0xff, result_bytes);  // not a number
        world.barrier();                              // nobody writes into what is not poisoned yet
        ours(1);
        refuse_mistake(bench, row, first_mistake(case_, dst.data(), count, me, pes));
      };
      check();
      bench.measure(row, {{Role::ours, "", ours}, {Role::limit, "", limit}});
      check();  // after thousands of calls too
    }
  }

 private:
  static ForeignPeer mpi_collective_peer(const char* peer, Launcher launcher, const char* program,
                                         const std::string& topic) {
    return {.name = peer, .launcher = launcher, .program = program, .arguments = {topic}, .pinned = true};
  }

  static std::vector<std::uint64_t> sizes_of(const JobRequest& request) {
    if (!request.sizes.empty()) return request.sizes;
    std::vector<std::uint64_t> sizes(std::begin(kSizes), std::end(kSizes));
    if (request.quick) std::erase_if(sizes, [](std::uint64_t size) { return size > COLLECTIVE_LARGEST_QUICK; });
    return sizes;
  }

  /// Collective: a wrong result on any PE ends the job on all, and a PE that has one says which.
  static void refuse_mistake(JobBench& bench, const Row& row, const std::optional<Mistake>& mistake) {
    if (bench.max_over_pes(mistake ? 1 : 0) == 0) return;
    const std::string which =
        fmt::format("{} of {} by {}, {} PEs", row.name, bytes_text(*row.bytes), *row.algo, bench.world().size());
    if (!mistake) throw Error(Code::internal, fmt::format("{}: the result is wrong on another PE", which));
    throw Error(Code::internal, fmt::format("{}: the result is wrong: element {} on PE {} is {}, expected {}", which,
                                            mistake->index, bench.world().rank(), mistake->found, mistake->expected));
  }

  const CollectiveCase& case_;
};

/// One topic for each row of the table.
const bool registered = [] {
  int place = 9;
  for (const CollectiveCase& one : collective_cases()) {
    TopicRegistration(place++, [&one] { return std::unique_ptr<Topic>(new CollectiveTopic(one)); });
  }
  return true;
}();

}  // namespace
}  // namespace isotope::bench
