// The table of collectives: factors, sizes, and the check of results.
#include "bench/collectives/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace isotope::bench {
namespace {

const CollectiveCase& named(const std::string& topic) {
  for (const CollectiveCase& one : collective_cases()) {
    if (topic == one.topic) return one;
  }
  throw std::out_of_range(topic);
}

TEST(CollectiveCases, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(named("allreduce").bus_factor(2), 1);
  EXPECT_DOUBLE_EQ(named("allreduce").bus_factor(4), 1.5);
  EXPECT_DOUBLE_EQ(named("allreduce").bus_factor(8), 1.75);
  for (const char* topic : {"allgather", "reducescatter", "alltoall"}) {
    EXPECT_DOUBLE_EQ(named(topic).bus_factor(2), 0.5) << topic;
    EXPECT_DOUBLE_EQ(named(topic).bus_factor(4), 0.75) << topic;
  }
  for (const char* topic : {"broadcast", "reduce"}) {
    EXPECT_DOUBLE_EQ(named(topic).bus_factor(2), 1) << topic;
    EXPECT_DOUBLE_EQ(named(topic).bus_factor(8), 1) << topic;
  }
}

TEST(CollectiveCases, BytesAreOfTheWholeVectorInWholeParts) {
  for (const char* topic : {"allgather", "reducescatter", "alltoall"}) {
    EXPECT_EQ(count_of(named(topic), 1024, 4), 64u) << topic;
    EXPECT_EQ(bytes_of(named(topic), 64, 4), 1024u) << topic;
    EXPECT_EQ(count_of(named(topic), 1024, 3), 85u) << topic;
    EXPECT_EQ(bytes_of(named(topic), 85, 3), 1020u) << topic;
    EXPECT_EQ(count_of(named(topic), 8, 3), 0u) << topic;
  }
  for (const char* topic : {"allreduce", "broadcast", "reduce"}) {
    EXPECT_EQ(count_of(named(topic), 1024, 3), 256u) << topic;
    EXPECT_EQ(bytes_of(named(topic), 256, 3), 1024u) << topic;
  }
  EXPECT_EQ(result_count(named("allreduce"), 5, 3), 5u);
  EXPECT_EQ(result_count(named("broadcast"), 5, 3), 5u);
  EXPECT_EQ(result_count(named("reducescatter"), 5, 3), 5u);
  EXPECT_EQ(result_count(named("allgather"), 5, 3), 15u);
  EXPECT_EQ(result_count(named("alltoall"), 5, 3), 15u);
}

TEST(CollectiveCases, SourcesDifferByPeAndPlaceAndSumExactly) {
  std::size_t same_pe = 0, same_place = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(source_value(3, i), static_cast<float>(static_cast<int>(source_value(3, i))));
    EXPECT_LT(source_value(3, i), 1024);
    same_pe += source_value(0, i) == source_value(1, i);
    same_place += source_value(0, i) == source_value(0, i + 1);
  }
  EXPECT_LT(same_pe, 20u);
  EXPECT_LT(same_place, 20u);
}

/// What each collective gives, by the words of the standard.
std::vector<float> result_of(const std::string& topic, std::size_t count, int me, int pes) {
  const auto mine = static_cast<std::size_t>(me) * count;
  std::vector<float> result;
  const auto sum = [&](std::size_t i) {
    float all = 0;
    for (int pe = 0; pe < pes; ++pe) all += source_value(pe, i);
    return all;
  };
  const auto add_all = [&](const auto& element) {
    for (std::size_t i = 0; i < count; ++i) result.push_back(element(i));
  };
  if (topic == "allreduce" || topic == "reduce") add_all(sum);
  if (topic == "reducescatter") add_all([&](std::size_t i) { return sum(mine + i); });
  if (topic == "broadcast") add_all([&](std::size_t i) { return source_value(0, i); });
  for (int pe = 0; pe < pes; ++pe) {
    if (topic == "allgather") add_all([&](std::size_t i) { return source_value(pe, i); });
    if (topic == "alltoall") add_all([&](std::size_t i) { return source_value(pe, mine + i); });
  }
  return result;
}

TEST(FirstMistake, AcceptsTheRightResultAndNoOther) {
  for (const CollectiveCase& one : collective_cases()) {
    for (const int pes : {1, 2, 3, 5}) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{5000}}) {  // the second is more than one chunk
        const int me = one.at_root ? 0 : pes / 2;
        std::vector<float> result = result_of(one.topic, count, me, pes);
        ASSERT_EQ(result.size(), result_count(one, count, pes)) << one.topic;
        EXPECT_FALSE(first_mistake(one, result.data(), count, me, pes)) << one.topic << " " << pes;
        for (const std::size_t at : {std::size_t{0}, result.size() / 2, result.size() - 1}) {
          const float right = result[at];
          result[at] += 1;
          const auto mistake = first_mistake(one, result.data(), count, me, pes);
          ASSERT_TRUE(mistake) << one.topic << " " << pes << " PEs, element " << at;
          EXPECT_EQ(mistake->index, at) << one.topic;
          EXPECT_EQ(mistake->found, right + 1);
          EXPECT_EQ(mistake->expected, right);
          result[at] = right;
        }
      }
    }
  }
}

TEST(FirstMistake, SeesAnotherPesResult) {
  const std::vector<float> other = result_of("alltoall", 8, 1, 3);
  EXPECT_TRUE(first_mistake(named("alltoall"), other.data(), 8, 0, 3));
  const std::vector<float> scattered = result_of("reducescatter", 8, 1, 3);
  EXPECT_TRUE(first_mistake(named("reducescatter"), scattered.data(), 8, 2, 3));
}

TEST(FirstMistake, LooksAtTheRootAloneWhereOnlyThatHasAResult) {
  const std::vector<float> nothing(8, -1);
  EXPECT_TRUE(first_mistake(named("reduce"), nothing.data(), 8, 0, 3));
  EXPECT_FALSE(first_mistake(named("reduce"), nothing.data(), 8, 1, 3));
}

TEST(AlgorithmNames, BeginWithAutomaticAndAreThoseThatAddFloats) {
  for (const CollectiveCase& one : collective_cases()) {
    const std::vector<std::string> names = algorithm_names(one.collective);
    ASSERT_GE(names.size(), 2u) << one.topic;
    EXPECT_EQ(names.front(), "automatic");
    EXPECT_EQ(std::count(names.begin(), names.end(), "automatic"), 1);
  }
  const auto of_all_reduce = algorithm_names(Collective::all_reduce);
  EXPECT_NE(std::find(of_all_reduce.begin(), of_all_reduce.end(), "two_shot"), of_all_reduce.end());
}

}  // namespace
}  // namespace isotope::bench
