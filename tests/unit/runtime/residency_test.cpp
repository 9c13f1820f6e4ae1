// What a PE counts on where several share a GPU.
#include "runtime/residency.hpp"

#include <gtest/gtest.h>

namespace isotope::runtime {
namespace {

using Tenants = std::vector<Tenant>;

TEST(Residency, AloneAPeHasAll) {
  const Residency alone = residency_of(7, {{7, 0}}, 132, false);
  EXPECT_EQ(alone.multiprocessors, 132);
  EXPECT_EQ(alone.sharing, 1);
}

TEST(Residency, ThreadsDivideWhatTheirProcessHas) {
  const Residency third = residency_of(7, {{7, 0}, {7, 0}, {7, 0}}, 132, false);
  EXPECT_EQ(third.multiprocessors, 44);
  EXPECT_EQ(third.sharing, 3);
}

// The driver of a client says what its percentage has left of the GPU.
TEST(Residency, SharesThatFitAreTakenAsTheyAre) {
  const Residency half = residency_of(7, {{7, 50}, {8, 50}}, 66, true);
  EXPECT_EQ(half.multiprocessors, 66);
  EXPECT_EQ(half.sharing, 1);
}

TEST(Residency, ProcessesWithoutAShareMeetOnAll) {
  const Residency quarter = residency_of(7, {{7, 0}, {8, 0}, {9, 0}, {10, 0}}, 132, true);
  EXPECT_EQ(quarter.multiprocessors, 33);
  EXPECT_EQ(quarter.sharing, 4);
}

TEST(Residency, SharesOfMoreThanTheGpuAreCutDown) {
  // Three processes of 60 %, 79 multiprocessors each, on 132.
  const Residency third = residency_of(7, {{7, 60}, {8, 60}, {9, 60}}, 79, true);
  EXPECT_EQ(third.multiprocessors, 79 * 100 / 180);
  EXPECT_LE(3 * third.multiprocessors, 132);
  EXPECT_EQ(third.sharing, 3);
}

TEST(Residency, PartsOfAPercentCount) {
  EXPECT_EQ(residency_of(7, Tenants{{7, 33.4}, {8, 33.4}, {9, 33.4}}, 44, true).multiprocessors, 43);
  // 100, and as doubles add up a little more.
  EXPECT_EQ(
      residency_of(7, Tenants{{7, 11.1}, {8, 16.6}, {9, 16.6}, {10, 16.6}, {11, 33.4}, {12, 5.7}}, 14, true).sharing,
      1);
  EXPECT_EQ(residency_of(7, {{7, 12.5}, {8, 12.5}, {9, 75.0}}, 16, true).sharing, 1);
}

TEST(Residency, ProcessesOfSeveralPesCountOnce) {
  const Residency eighth = residency_of(7, {{7, 50}, {7, 50}, {7, 50}, {7, 50}, {8, 50}}, 66, true);
  EXPECT_EQ(eighth.multiprocessors, 16);
  EXPECT_EQ(eighth.sharing, 4);
}

TEST(Residency, WithoutMpsProcessesTakeTurns) {
  EXPECT_EQ(residency_of(7, {{7, 0}, {8, 0}}, 132, false).multiprocessors, 132);
}

TEST(Residency, MorePesThanMultiprocessorsHaveNone) {
  EXPECT_EQ(residency_of(7, Tenants(133, {7, 0}), 132, false).multiprocessors, 0);
  EXPECT_EQ(residency_of(7, Tenants(132, {7, 0}), 132, false).multiprocessors, 1);
}

TEST(Residency, PercentagesThatAreNoneAreWhole) {
  EXPECT_EQ(residency_of(7, {{7, -5}, {8, 100}, {9, 1000}}, 132, true).multiprocessors, 44);
}

}  // namespace
}  // namespace isotope::runtime
