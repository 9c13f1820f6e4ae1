// put, get: bytes from one PE's memory to another's, by one thread of a kernel. PE 0 works, the others are idle.
#include <cstring>

#include "bench/harness/job_bench.hpp"
#include "bench/harness/topic.hpp"
#include "bench/topics/device_peers.hpp"
#include "bench/topics/raw.hpp"
#include "isotope/device/rma.hpp"
#include "isotope/isotope.h"

namespace isotope::bench {
namespace {

// The same as in bench/peers/peer.h.
constexpr std::uint64_t kSizes[] = {8, 64, 512, 4096, 64 << 10, 1 << 20, 4 << 20, 16 << 20};
constexpr std::uint64_t kLargest = 16 << 20;
constexpr std::uint64_t kSmall = 4096;  // below it a time says more than a bandwidth

ISOTOPE_KERNEL void puts(Team team, char* dst, const char* src, std::size_t bytes, int to, long n) {
  for (; n > 0; --n) {
    put_bytes(this_thread(), team, dst, src, bytes, to);
    keep_memory();
  }
}

ISOTOPE_KERNEL void gets(Team team, char* dst, const char* src, std::size_t bytes, int from, long n) {
  for (; n > 0; --n) {
    get_bytes(this_thread(), team, dst, src, bytes, from);
    keep_memory();
  }
}

void copies(char* dst, const char* src, std::size_t bytes, long n) {
  for (; n > 0; --n) {
    std::memcpy(dst, src, bytes);
    keep_memory();
  }
}

// isotope_put as it would be without its checks: another function, to which the size is no constant either.
[[gnu::noinline]] int unchecked_put(const isotope_team* team, void* dst, const void* src, std::size_t bytes, int to) {
  put_bytes(this_thread(), *reinterpret_cast<const Team*>(team), dst, src, bytes, to);
  return 0;
}

template <bool kPut>
class Transfer : public Topic {
 public:
  std::string name() const override { return kPut ? "put" : "get"; }
  std::string summary() const override {
    return std::string(kPut ? "a put" : "a get") + " by one thread, 8 bytes to 16 MiB";
  }
  std::vector<int> default_pes() const override { return {2}; }
  int default_repeats() const override { return 55; }
  int turns() const override { return 11; }
  bool has_sizes() const override { return true; }
  std::vector<ForeignPeer> foreign_peers() const override { return {ucx_peer(name()), oshmem_peer(name())}; }

  void measure(JobBench& bench) const override {
    bench.pin();
    World& world = bench.world();
    const Team team = world.team();
    const int other = world.size() > 1 ? 1 : 0;
    auto src = world.alloc<char>(kLargest), dst = world.alloc<char>(kLargest);
    std::memset(src.data(), world.rank() + 1, kLargest);  // also makes the pages
    std::memset(dst.data(), world.rank() + 1, kLargest);
    world.barrier();

    for (const std::uint64_t bytes : kSizes) {
      const auto ours = [&](long n) {
        if (world.rank() != 0) return;
        world.launch<kPut ? puts : gets>({}, team, dst.data(), src.data(), bytes, other, n);
        world.synchronize();
      };
      const auto limit = [&](long n) {
        if (world.rank() != 0) return;
        if (kPut) {
          copies(team.at(dst.data(), other), src.data(), bytes, n);
        } else {
          copies(dst.data(), team.at(src.data(), other), bytes, n);
        }
      };
      bench.measure({.name = name(), .bytes = bytes, .limit_name = "memcpy", .unit = bytes < kSmall ? "ns" : "GB/s"},
                    {{Role::ours, "", ours}, {Role::limit, "", limit}});
    }
    if (kPut) measure_checks(bench, dst.data(), src.data(), other);
  }

 private:
  /// What the C edge's look at its arguments costs, called from the host: beside the same put without it.
  void measure_checks(JobBench& bench, char* dst, const char* src, int to) const {
    const Team team = bench.world().team();
    const auto* c_team = reinterpret_cast<const isotope_team*>(&team);
    const bool works = bench.world().rank() == 0;
    std::size_t bytes = 8;
    asm volatile("" : "+r"(bytes));
    const auto checked = [&](long n) {
      for (; works && n > 0; --n) {
        if (isotope_put(c_team, dst, src, bytes, to) != 0) return;
        keep_memory();
      }
    };
    const auto unchecked = [&](long n) {
      for (; works && n > 0; --n) {
        if (unchecked_put(c_team, dst, src, bytes, to) != 0) return;
        keep_memory();
      }
    };
    bench.measure({.name = "put_from_host", .bytes = 8, .limit_name = "no checks", .unit = "ns"},
                  {{Role::ours, "", checked}, {Role::limit, "", unchecked}});
  }
};

const TopicRegistration put_registration{4, [] { return std::unique_ptr<Topic>(new Transfer<true>); }};
const TopicRegistration get_registration{5, [] { return std::unique_ptr<Topic>(new Transfer<false>); }};

}  // namespace
}  // namespace isotope::bench
