// Playing a schedule again: step by step, by its seed or by the order that an exhaustive search found, to the byte.
#include <gtest/gtest.h>
#include <isotope/host/check.hpp>
#include <isotope/isotope.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace isotope;

ISOTOPE_KERNEL void race(Team team, int* data, std::uint64_t* flag) {
  if (team.rank() == 0) {
    *team.at(data, 1) = 7;
    store(team.at(flag, 1), 1);
  } else if (wait_until(this_thread(), team, flag, Cmp::ge, 1)) {
    data[0] += 1;
  }
}

ISOTOPE_KERNEL void poll_plainly(Team team, int* data, std::uint64_t* flag) {
  (void)flag;
  if (team.rank() == 0) {
    *team.at(data, 1) = 7;
  } else {
    const volatile int* word = data;
    while (*word == 0) {
    }
  }
}

/// Each PE says something and looks at the other's word: it takes an unusual order, and an older value, for both to
/// miss it.
ISOTOPE_KERNEL void both_miss(Team team, int* entered, std::uint64_t* said) {
  store(said, 1);
  if (load(team.at(said, 1 - team.rank())) == 0) *team.at(entered, 0) = team.rank();
}

template <auto Kernel>
void program() {
  World world = init();
  auto data = world.alloc_zeroed<int>(1);
  auto flag = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<Kernel>({}, world.team(), data.data(), flag.data());
  world.synchronize();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Steps, AreTheSameEveryTime) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const CheckOptions options{.pes = 2, .seed = seed, .show_steps = true};
    const CheckResult first = run_checked(options, &program<race>), again = run_checked(options, &program<race>);
    EXPECT_EQ(first.step_log, again.step_log);
  }
}

TEST(Steps, SayWhatWhereAndAtWhichLine) {
  const CheckResult result = run_checked({.pes = 2, .seed = 1, .show_steps = true}, &program<race>);
  ASSERT_TRUE(result.found);
  for (const char* part :
       {"  step  PE  blk  thr   what", "begins kernel race", "writes 4 bytes to object 1 + 0 of PE 1",
        "stores 1 to object 2 + 0 of PE 1, relaxed system", "replay_test.cpp:19", "finding: release missing"})
    EXPECT_NE(result.step_log.find(part), std::string::npos) << "no '" << part << "' in\n" << result.step_log;
  for (const std::string& line : lines_of(result.step_log)) EXPECT_LE(line.size(), 80u) << line;
}

TEST(Steps, APartIsWhatTheWholeHasThere) {
  CheckOptions options{.pes = 2, .seed = 1, .show_steps = true};
  const std::vector<std::string> all = lines_of(run_checked(options, &program<race>).step_log);
  options.first_step = options.last_step = 16;
  const std::vector<std::string> some = lines_of(run_checked(options, &program<race>).step_log);
  ASSERT_GT(some.size(), 1u);
  EXPECT_LT(some.size(), all.size());
  const auto at = std::find(all.begin(), all.end(), some[1]);
  ASSERT_LE(some.size() - 1, static_cast<std::size_t>(all.end() - at));
  EXPECT_TRUE(std::equal(some.begin() + 1, some.end(), at)) << some[1];
}

TEST(Steps, AreOfOneScheduleOnly) {
  EXPECT_THROW(run_checked({.pes = 2, .schedules = 2, .show_steps = true}, &program<race>), Error);
  EXPECT_THROW(run_checked({.pes = 2, .strategy = CheckStrategy::exhaustive, .show_steps = true}, &program<race>),
               Error);
}

TEST(Order, OfAFindingPlaysItAgain) {
  CheckOptions options{.pes = 2, .schedules = 1000, .strategy = CheckStrategy::exhaustive};
  const CheckResult found = run_checked(options, &program<both_miss>);
  ASSERT_TRUE(found.found);
  ASSERT_GT(found.schedules, 1u) << "the first order is played without being told";
  options.order = found.order;
  options.show_steps = true;
  const CheckResult first = run_checked(options, &program<both_miss>),
                    again = run_checked(options, &program<both_miss>);
  EXPECT_EQ(first.schedules, 1u);
  EXPECT_EQ(first.report, found.report);
  EXPECT_NE(first.step_log.find("loads 0 (older; the latest is 1)"), std::string::npos) << first.step_log;
  EXPECT_EQ(first.step_log, again.step_log);
}

TEST(Order, OfAnotherProgramIsRefused) {
  const CheckResult result =
      run_checked({.pes = 2, .strategy = CheckStrategy::exhaustive, .order = "999"}, &program<race>);
  EXPECT_EQ(result.verdict, "order does not fit") << result.report;
}

TEST(Order, MustBeOne) {
  for (const char* text : {"x", "3x", "3,,4", "3;4", "99999999999", "-1"}) {
    EXPECT_THROW(run_checked({.pes = 2, .strategy = CheckStrategy::exhaustive, .order = text}, &program<race>), Error)
        << text;
  }
  EXPECT_THROW(run_checked({.pes = 2, .order = "3"}, &program<race>), Error) << "the random strategy has no orders";
}

/// A loop of plain loads never comes to the scheduler by itself.
TEST(Poll, WithPlainLoadsIsARaceNotAHang) {
  for (const CheckStrategy strategy : {CheckStrategy::random, CheckStrategy::pct, CheckStrategy::exhaustive}) {
    const CheckResult result = run_checked({.pes = 2, .schedules = 10, .strategy = strategy}, &program<poll_plainly>);
    EXPECT_EQ(result.kind, "race") << result.report;
  }
}

}  // namespace
