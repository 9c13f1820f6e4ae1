// allreduce, allgather, reducescatter, alltoall, broadcast, reduce: calls one after the other, with nothing in between; from
// the host, or on GPUs from a stream.
#include <algorithm>

#include "bench/collectives/measure.hpp"
#include "bench/harness/job_bench.hpp"
#include "bench/harness/topic.hpp"
#include "bench/peers/collective_sizes.h"
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

  bool on_gpus() const override { return true; }

  void measure(JobBench& bench) const override {
    World& world = bench.world();
    const bool gpu = world.drives_gpu();
    if (gpu && gpu_rig_maker() == nullptr)
      throw Error(Code::not_supported, "this program has no code for GPUs: bin/isotope-bench-gpu has");
    if (!gpu) bench.pin();
    const std::vector<std::uint64_t> sizes = sizes_of(bench.request());
    const std::size_t most = *std::max_element(sizes.begin(), sizes.end()) / sizeof(float);
    const std::unique_ptr<Rig> rig = gpu ? gpu_rig_maker()(world, most) : make_cpu_rig(world, most);
    measure_collective(bench, case_, sizes, *rig);
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
