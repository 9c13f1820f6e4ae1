// barrier: all PEs meet inside a kernel, again and again.
#include "bench/harness/job_bench.hpp"
#include "bench/harness/topic.hpp"
#include "bench/topics/device_peers.hpp"
#include "bench/topics/raw.hpp"
#include "isotope/device/sync.hpp"

namespace isotope::bench {
namespace {

ISOTOPE_KERNEL void barriers(Team team, long n) {
  for (; n > 0; --n) {
    if (!barrier(this_thread(), team)) return;
  }
}

class BarrierTopic : public Topic {
 public:
  std::string name() const override { return "barrier"; }
  std::string summary() const override { return "a barrier of one thread per PE"; }
  std::vector<int> default_pes() const override { return {2, 4, 8}; }
  int default_repeats() const override { return 45; }
  int turns() const override { return 15; }
  std::vector<ForeignPeer> foreign_peers() const override { return {open_mpi_peer(name()), oshmem_peer(name())}; }

  void measure(JobBench& bench) const override {
    const bool pinned = bench.pin();
    World& world = bench.world();
    const Team team = world.team();
    const auto ours = [&](long n) {
      world.launch<barriers>({}, team, n);
      world.synchronize();
    };

    // Each PE has a line that it alone writes, and everyone looks at everyone's.
    struct alignas(128) Flag {
      std::uint64_t round;
    };
    auto flag = world.alloc_zeroed<Flag>(1);
    const int me = world.rank(), members = world.size();
    // A PE that waits for one that is not running had better let it run.
    const int spins = pinned ? 10'000 : 1;
    std::uint64_t round = 0;
    const auto limit = [&](long n) {
      for (; n > 0; --n) {
        raise(flag[0].round, ++round);
        for (int pe = 0; pe < members; ++pe) {
          if (pe != me) spin_until(team.at(flag.data(), pe)->round, round, spins);
        }
      }
    };
    bench.measure({.name = "barrier", .limit_name = "flags"}, {{Role::ours, "", ours}, {Role::limit, "", limit}});
  }
};

const TopicRegistration registration{8, [] { return std::unique_ptr<Topic>(new BarrierTopic); }};

}  // namespace
}  // namespace isotope::bench
