// The order of turns: everybody once per round, and everybody first in turn.
#include "bench/harness/interleave.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "bench/harness/job_bench.hpp"
#include "bench/harness/system.hpp"
#include "isotope/host/main.hpp"

namespace isotope::bench {
namespace {

TEST(Alternate, RotatesWhoBegins) {
  std::vector<int> order;
  alternate(3, 4, [&](int who) { order.push_back(who); });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 1, 2}));
}

TEST(Alternate, NothingToDo) {
  alternate(0, 5, [](int) { FAIL(); });
  alternate(5, 0, [](int) { FAIL(); });
}

TEST(JobBench, ContestantsTakeTurnsOnEveryPe) {
  SharedFile results;
  JobRequest request{
      .topic = "x", .threads = true, .rounds = 2, .block = std::chrono::nanoseconds(1), .results = results.path()};
  // Through text and back, as a job gets it.
  request = JobRequest::parse(request.text());
  std::vector<std::string> order;  // of PE 0
  run_threads(3, [&] {
    World world = init();
    JobBench bench(world, request);
    const auto turn = [&](const char* who) {
      return [&, who](long n) {
        EXPECT_EQ(n, 5);
        if (world.rank() == 0) order.push_back(who);
      };
    };
    bench.measure(
        {.name = "x", .limit_name = "l"},
        {{Role::ours, "", turn("ours"), 5}, {Role::limit, "", turn("limit"), 5}, {Role::peer, "p", turn("peer"), 5}});
    EXPECT_EQ(bench.max_over_pes(world.rank() * 10), 20);
    bench.write_results();
    world.barrier();
  });
  // Each turn is a block that does not count, and one that does.
  ASSERT_GE(order.size(), 12u);
  EXPECT_EQ(std::vector<std::string>(order.end() - 12, order.end()),
            (std::vector<std::string>{"ours", "ours", "limit", "limit", "peer", "peer", "limit", "limit", "peer",
                                      "peer", "ours", "ours"}));

  const Json written = Json::parse(results.take());
  const Measurement got = measurement_from_json(written.at("measurements").at(0));
  EXPECT_EQ(got.row.pes, 3);
  EXPECT_EQ(got.row.pes_as, "threads");
  EXPECT_EQ(got.ours.size(), 2u);
  EXPECT_EQ(got.limit.size(), 2u);
  EXPECT_EQ(got.peers.at("p").size(), 2u);
}

}  // namespace
}  // namespace isotope::bench
