// From times to a table of choices.
#include "bench/collectives/tuning.hpp"

#include <gtest/gtest.h>

namespace isotope::bench {
namespace {

constexpr auto kReduce = Collective::all_reduce;

TEST(FastestOf, BordersLieBetweenSizesAndTheLastRowHasNoEnd) {
  // Not in order of size.
  const auto rows = fastest_of(kReduce, 4,
                               {{65536, Algo::one_shot, 9},
                                {1024, Algo::one_shot, 1},
                                {1024, Algo::two_shot, 2},
                                {4096, Algo::one_shot, 2},
                                {4096, Algo::two_shot, 3},
                                {65536, Algo::two_shot, 5}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].collective, kReduce);
  EXPECT_EQ(rows[0].pes, 4);
  EXPECT_EQ(rows[0].algo, Algo::one_shot);
  EXPECT_EQ(rows[0].most_bytes, 16384u);
  EXPECT_EQ(rows[1].algo, Algo::two_shot);
  EXPECT_EQ(rows[1].most_bytes, kAnyBytes);
}

TEST(FastestOf, NoiseDoesNotChangeTheChoice) {
  const auto with = [](double two_shot) {
    return fastest_of(kReduce, 2,
                      {{1024, Algo::one_shot, 1},
                       {1024, Algo::two_shot, 2},
                       {4096, Algo::one_shot, 1},
                       {4096, Algo::two_shot, two_shot}});
  };
  EXPECT_EQ(with(0.98).size(), 1u);
  EXPECT_EQ(with(0.9).size(), 2u);
}

TEST(FastestOf, NothingMeasuredIsNoRow) { EXPECT_TRUE(fastest_of(kReduce, 2, {}).empty()); }

TEST(ReplaceRows, KeepsWhatWasNotMeasured) {
  const std::vector<ChoiceRow> before = {{Collective::broadcast, 2, kAnyBytes, Algo::flat},
                                         {kReduce, 2, 100, Algo::one_shot},
                                         {kReduce, 2, kAnyBytes, Algo::ring},
                                         {kReduce, 8, kAnyBytes, Algo::ring}};
  const auto after =
      replace_rows(before, {{kReduce, 2, kAnyBytes, Algo::two_shot}, {kReduce, 4, kAnyBytes, Algo::two_shot}});
  ASSERT_EQ(after.size(), 4u);
  EXPECT_EQ(after[0].pes, 2);
  EXPECT_EQ(after[0].algo, Algo::two_shot);
  EXPECT_EQ(after[1].pes, 4);
  EXPECT_EQ(after[2].pes, 8);
  EXPECT_EQ(after[2].algo, Algo::ring);
  EXPECT_EQ(after[3].collective, Collective::broadcast);
}

TEST(Tuning, SurvivesTheWayThroughTheFile) {
  const std::vector<ChoiceRow> rows = fastest_of(
      kReduce, 4, {{1024, Algo::ll8, 1}, {1024, Algo::ring, 2}, {4096, Algo::ll8, 3}, {4096, Algo::ring, 2}});
  const ChoiceTable table = ChoiceTable::parse(ChoiceTable(rows, "here").text(), "there");
  EXPECT_EQ(table.choose(kReduce, 4, 1024), Algo::ll8);
  EXPECT_EQ(table.choose(kReduce, 4, 2048), Algo::ll8);
  EXPECT_EQ(table.choose(kReduce, 4, 2049), Algo::ring);
  EXPECT_EQ(table.choose(kReduce, 4, 1 << 30), Algo::ring);
}

}  // namespace
}  // namespace isotope::bench
