// Measuring a collective: results are checked before and after, and who falls behind is left out where the rig says so.
#include "bench/collectives/measure.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <map>
#include <thread>

#include "isotope/base/error.hpp"

namespace isotope::bench {
namespace {

/// One PE, where every result is the source. Calls of `ring` take two milliseconds from 2 KiB on.
class FakeRig : public Rig {
 public:
  void prepare(const CollectiveCase&, std::size_t count, const How& how) override {
    count_ = count;
    slow_ = how.algo == Algo::ring && count * sizeof(float) >= 2048;
    ++prepared;
  }
  void call(long n) override {
    EXPECT_EQ(n % step(), 0);
    if (slow_) std::this_thread::sleep_for(std::chrono::milliseconds(2) * n);
    result_.resize(count_);
    for (std::size_t i = 0; i < count_; ++i) result_[i] = source_value(0, i);
    calls += n;
    if (calls >= wrong_from) result_.back() += 1;
  }
  void copy(long n) override { copies += n; }
  void poison() override { result_.assign(count_, std::numeric_limits<float>::quiet_NaN()); }
  const float* result() override { return result_.data(); }
  long step() const override { return 2; }
  const char* copy_name() const override { return "copy"; }
  bool drops_laggards() const override { return drops; }

  bool drops = true;
  long calls = 0, copies = 0, prepared = 0;
  long wrong_from = std::numeric_limits<long>::max();

 private:
  std::size_t count_ = 0;
  bool slow_ = false;
  std::vector<float> result_;
};

class Measure : public ::testing::Test {
 protected:
  /// Rows by algorithm.
  std::map<std::string, int> rows(bool alone) {
    World world = init();
    const JobRequest request{.topic = "allreduce",
                             .block = std::chrono::microseconds(1),
                             .results = "",
                             .algos = {"ring", "one_shot"},
                             .alone = alone};
    JobBench bench(world, request);
    std::map<std::string, int> counts;
    measure_collective(bench, collective_cases().front(), {1024, 2048, 4096, 8192}, rig_);
    notes_ = bench.extra().value("notes", std::vector<std::string>{});
    for (const Measurement& one : bench.measurements()) {
      EXPECT_EQ(one.ours.size(), 1u);
      EXPECT_EQ(one.limit.size(), alone ? 0u : 1u);
      ++counts[*one.row.algo];
    }
    return counts;
  }

  FakeRig rig_;
  std::vector<std::string> notes_;
};

TEST_F(Measure, WhoFallsBehindHasNoRowsForLargerSizes) {
  for (const bool alone : {false, true}) {
    EXPECT_EQ(rows(alone), (std::map<std::string, int>{{"ring", 2}, {"one_shot", 4}})) << alone;
    ASSERT_EQ(notes_.size(), 1u);
    EXPECT_EQ(notes_[0], "allreduce on 1 PEs by ring is left out above 2 KiB: too slow for more");
  }
}

TEST_F(Measure, NobodyIsLeftOutWhereTheRigDropsNone) {
  rig_.drops = false;
  EXPECT_EQ(rows(true), (std::map<std::string, int>{{"ring", 4}, {"one_shot", 4}}));
  EXPECT_TRUE(notes_.empty());
  EXPECT_EQ(rig_.copies, 0) << "nobody asked for the limit";
}

TEST_F(Measure, AWrongResultIsFoundBeforeAndAfter) {
  for (const long from : {1L, 5L}) {  // the first case's check, and a call of its measurement
    rig_.calls = 0;
    rig_.wrong_from = from;
    rig_.prepared = 0;
    try {
      rows(true);
      ADD_FAILURE() << "passed with calls that are wrong from the one of number " << from;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("allreduce of 1 KiB by ring, 1 PEs: the result is wrong: element 255"),
                std::string::npos)
          << error.what();
    }
    EXPECT_EQ(rig_.prepared, 1);
  }
}

TEST(FallsBehind, TakesLongAndFarLongerThanACopy) {
  EXPECT_FALSE(falls_behind(0.9e-3, 0)) << "what is short may stay, however slow";
  EXPECT_FALSE(falls_behind(0.1, 0.1 / 15)) << "a slow machine, not a slow algorithm";
  EXPECT_TRUE(falls_behind(0.1, 0.1 / 17));
}

}  // namespace
}  // namespace isotope::bench
