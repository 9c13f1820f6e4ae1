// atomics: 64-bit additions to a word of another PE, by PE 0 alone and by two PEs at once.
#include "bench/harness/job_bench.hpp"
#include "bench/harness/topic.hpp"
#include "bench/topics/device_peers.hpp"
#include "bench/topics/raw.hpp"
#include "isotope/device/atomic.hpp"

namespace isotope::bench {
namespace {

ISOTOPE_KERNEL void fetch_adds(Team team, std::uint64_t* word, int pe, long n) {
  for (; n > 0; --n) keep(atomic_fetch_add(team, word, 1, pe));
}

ISOTOPE_KERNEL void adds(Team team, std::uint64_t* word, int pe, long n) {
  for (; n > 0; --n) atomic_add(team, word, 1, pe);
}

void raw_fetch_adds(std::uint64_t* word, long n) {
  for (; n > 0; --n) keep(__atomic_fetch_add(word, 1, __ATOMIC_RELAXED));
}

void raw_adds(std::uint64_t* word, long n) {
  for (; n > 0; --n) __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
}

class Atomics : public Topic {
 public:
  std::string name() const override { return "atomics"; }
  std::string summary() const override { return "additions to a word of another PE, by one PE and by two at once"; }
  std::vector<int> default_pes() const override { return {2}; }
  int default_repeats() const override { return 33; }
  int turns() const override { return 11; }
  std::vector<ForeignPeer> foreign_peers() const override { return {ucx_peer(name()), oshmem_peer(name())}; }

  void measure(JobBench& bench) const override {
    bench.pin();
    auto word = bench.world().alloc_zeroed<std::uint64_t>(1);
    one<fetch_adds>(bench, word.data(), {.name = "atomic_fetch_add", .limit_name = "lock xadd", .unit = "ns"},
                    raw_fetch_adds, 1);
    one<adds>(bench, word.data(), {.name = "atomic_add", .limit_name = "lock add", .unit = "Mops/s"}, raw_adds, 1);
    one<fetch_adds>(bench, word.data(), {.name = "atomic_fetch_add_2_pes", .limit_name = "lock xadd", .unit = "ns"},
                    raw_fetch_adds, 2);
  }

 private:
  /// The first `workers` PEs add to the word of PE 1.
  template <auto Kernel>
  static void one(JobBench& bench, std::uint64_t* word, Row row, void (*raw)(std::uint64_t*, long), int workers) {
    World& world = bench.world();
    const Team team = world.team();
    const int owner = world.size() > 1 ? 1 : 0;
    row.bytes = sizeof(std::uint64_t);
    const auto ours = [&](long n) {
      if (world.rank() >= workers) return;
      world.launch<Kernel>({}, team, word, owner, n);
      world.synchronize();
    };
    const auto limit = [&](long n) {
      if (world.rank() < workers) raw(team.at(word, owner), n);
    };
    bench.measure(row, {{Role::ours, "", ours}, {Role::limit, "", limit}});
  }
};

const TopicRegistration registration{6, [] { return std::unique_ptr<Topic>(new Atomics); }};

}  // namespace
}  // namespace isotope::bench
