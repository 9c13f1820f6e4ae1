// alloc: an object of the symmetric heap, made and given back by all PEs together.
#include "bench/harness/job_bench.hpp"
#include "bench/harness/topic.hpp"
#include "bench/topics/device_peers.hpp"

namespace isotope::bench {
namespace {

class Alloc : public Topic {
 public:
  std::string name() const override { return "alloc"; }
  std::string summary() const override { return "collective alloc + free of 4 KiB and 1 MiB"; }
  std::vector<int> default_pes() const override { return {4}; }
  std::vector<ForeignPeer> foreign_peers() const override { return {oshmem_peer(name())}; }

  void measure(JobBench& bench) const override {
    bench.pin();
    World& world = bench.world();
    const auto two_barriers = [&](long n) {
      for (; n > 0; --n) {
        world.barrier();
        world.barrier();
      }
    };
    for (const std::uint64_t bytes : {std::uint64_t{4} << 10, std::uint64_t{1} << 20}) {
      const auto alloc_free = [&](long n) {
        for (; n > 0; --n) {
          auto object = world.alloc<char>(bytes);
          world.free(object);
        }
      };
      bench.measure({.name = "alloc", .bytes = bytes, .limit_name = "two barriers"},
                    {{Role::ours, "", alloc_free}, {Role::limit, "", two_barriers}});
    }
  }
};

const TopicRegistration registration{2, [] { return std::unique_ptr<Topic>(new Alloc); }};

}  // namespace
}  // namespace isotope::bench
