// How a wait spends its time: it spins first, unless PEs outnumber the CPUs.
#include "exec/backoff.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace isotope::exec {
namespace {

TEST(Backoff, SpinsFirstAndAgainAfterSomethingWentOn) {
  ASSERT_FALSE(is_crowded());
  Backoff backoff;
  for (std::uint32_t i = 0; i < Backoff::kSpins; ++i) {
    EXPECT_TRUE(backoff.spinning()) << i;
    backoff.step();
  }
  EXPECT_FALSE(backoff.spinning());
  backoff.step();
  backoff.reset();
  EXPECT_TRUE(backoff.spinning());
}

TEST(Backoff, NeverSpinsInACrowd) {
  set_crowded(true);
  Backoff backoff;
  EXPECT_FALSE(backoff.spinning());
  backoff.step();
  backoff.reset();
  EXPECT_FALSE(backoff.spinning());
  set_crowded(false);
  EXPECT_TRUE(backoff.spinning());
}

// Many waits that are each met soon never add up to one long enough to sleep: each step is a yield, not 50 us.
TEST(Backoff, ShortWaitsInACrowdDoNotAddUpToASleep) {
  set_crowded(true);
  Backoff backoff;
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(3 * Backoff::kYieldNs);
  while (std::chrono::steady_clock::now() < end) {
    backoff.step();
    backoff.reset();
  }
  EXPECT_EQ(backoff.waiting_since_ns(), 0u);
  backoff.step();
  EXPECT_NE(backoff.waiting_since_ns(), 0u);
  set_crowded(false);
}

}  // namespace
}  // namespace isotope::exec
