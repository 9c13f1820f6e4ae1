// Peers that are programs of their own: where their samples go, and how threads are pinned beside them.
#include "bench/harness/peer.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <thread>

#include "bench/harness/row.hpp"
#include "bench/harness/system.hpp"
#include "isotope/base/error.hpp"

namespace isotope::bench {
namespace {

TEST(PeerSamples, GoToTheirCase) {
  std::vector<Measurement> all = {{.row = {.name = "put", .pes = 2, .bytes = 8}},
                                  {.row = {.name = "put", .pes = 2, .bytes = 64}},
                                  {.row = {.name = "put", .pes = 4, .bytes = 8}},
                                  {.row = {.name = "barrier", .pes = 2}}};
  add_peer_samples(all, "UCX", 2,
                   "put 64 1e-9\nput 8 2e-9\nbarrier 0 3e-9\nput 8 4e-9\nunknown 8 5e-9\nput 512 6e-9\n");
  EXPECT_EQ(all[0].peers, (std::map<std::string, Samples>{{"UCX", {2e-9, 4e-9}}}));
  EXPECT_EQ(all[1].peers, (std::map<std::string, Samples>{{"UCX", {1e-9}}}));
  EXPECT_TRUE(all[2].peers.empty());
  EXPECT_EQ(all[3].peers, (std::map<std::string, Samples>{{"UCX", {3e-9}}}));
}

TEST(PeerSamples, BrokenLinesAddNothing) {
  std::vector<Measurement> all = {{.row = {.name = "put", .pes = 2, .bytes = 8}}};
  add_peer_samples(all, "UCX", 2, "");
  add_peer_samples(all, "UCX", 2, "put 8\n");
  add_peer_samples(all, "UCX", 2, "put many 1e-9\n");
  EXPECT_TRUE(all[0].peers.empty());
}

TEST(Pin, KeepsTheThreadOnOneCpuAndOthersAlone) {
  const int before = usable_cpus();
  ASSERT_GE(before, 1);
  std::vector<int> cpus;
  for (int index = 0; index < before; ++index) {
    std::thread([&] {
      pin_to_cpu(index);
      EXPECT_EQ(usable_cpus(), 1);
      cpus.push_back(sched_getcpu());
    }).join();
  }
  EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
  EXPECT_EQ(std::adjacent_find(cpus.begin(), cpus.end()), cpus.end()) << "two indices, one CPU";
  EXPECT_EQ(usable_cpus(), before);
  EXPECT_THROW(pin_to_cpu(before), Error);
  EXPECT_EQ(usable_cpus(), before);
}

}  // namespace
}  // namespace isotope::bench
