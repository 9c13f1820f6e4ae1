// A peer never arrives: init() gives up at its deadline, on every PE that came, and lists who did not. Row 7 of the
// matrix.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "support/fault_job.hpp"

namespace isotope {
namespace {

using namespace std::chrono_literals;
using testing::Command;
using testing::FaultJob;
using testing::has_number;
using testing::isotope_binary;
using testing::kEndBound;
using testing::no_process_left;
using testing::PesAs;
using testing::Seat;
using testing::test_program;

constexpr auto kDeadline = 1s;
constexpr auto kEarliest = 900ms, kLatest = 1100ms;

struct ArrivalCase {
  int pes;
  std::vector<int> missing;

  friend void PrintTo(const ArrivalCase& c, std::ostream* out) {
    *out << c.pes << "Without";
    for (int rank : c.missing) *out << "_" << rank;
  }
};

class Arrival : public ::testing::TestWithParam<ArrivalCase> {};
INSTANTIATE_TEST_SUITE_P(All, Arrival,
                         ::testing::Values(ArrivalCase{2, {1}}, ArrivalCase{2, {0}}, ArrivalCase{3, {2}},
                                           ArrivalCase{5, {0, 4}}, ArrivalCase{8, {3}},
                                           ArrivalCase{8, {0, 1, 2, 4, 5, 6, 7}}),
                         ::testing::PrintToStringParamName());

// A list of ranks may be written 0,1,2 or 0-2: the ends of each run are always there.
void expect_lists(const std::string& message, const std::vector<int>& missing) {
  const auto holds = [&](int rank) { return std::find(missing.begin(), missing.end(), rank) != missing.end(); };
  for (int rank : missing) {
    if (holds(rank - 1) && holds(rank + 1)) continue;
    EXPECT_TRUE(has_number(message, static_cast<std::uint64_t>(rank))) << rank << " is not in: " << message;
  }
}

TEST_P(Arrival, OfSomeNeverHappens) {
  const auto run = [] {
    auto made = std::make_unique<FaultJob>(testing::FaultShape{GetParam().pes, PesAs::processes},
                                           InitOptions{.bootstrap_deadline = kDeadline});
    for (int rank : GetParam().missing) made->leave_out(rank);
    // The process that made the id has to live until every init() has returned.
    made->set_last([&made] { made->meet(0); });
    made->run([](World&, Seat&) { ADD_FAILURE() << "init() returned without all PEs"; });
    return made;
  };
  // On a machine so busy that the server itself came too late, PEs can only say that: it is not what is asked here.
  const auto ran = testing::until_on_time(run, [](const FaultJob& made) {
    for (int rank = 0; rank < made.pes(); ++rank) {
      if (std::string(made.seat(rank).message).find("does not answer") != std::string::npos) return false;
    }
    return made.on_time(kLatest);
  });
  FaultJob& job = *ran;
  int came = 0;
  for (int rank = 0; rank < job.pes(); ++rank) {
    if (std::find(GetParam().missing.begin(), GetParam().missing.end(), rank) != GetParam().missing.end()) continue;
    ++came;
    const Seat& seat = job.seat(rank);
    ASSERT_TRUE(seat.threw) << "PE " << rank;
    EXPECT_EQ(seat.code, Code::timeout) << seat.message;
    EXPECT_EQ(seat.error_pe, rank) << seat.message;
    expect_lists(seat.message, GetParam().missing);
    EXPECT_NE(std::string(seat.message).find("ISOTOPE_BOOTSTRAP_DEADLINE"), std::string::npos)
        << "what to do is missing: " << seat.message;
    EXPECT_TRUE(job.took_between(rank, kEarliest, kLatest));
  }
  EXPECT_EQ(came + static_cast<int>(GetParam().missing.size()), job.pes());
  EXPECT_TRUE(no_process_left());
}

// Alive, but busy with something else.
class ArrivalUnderTheLauncher : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, ArrivalUnderTheLauncher, ::testing::Values(2, 5, 8), ::testing::PrintToStringParamName());

TEST_P(ArrivalUnderTheLauncher, NeverHappens) {
  const int pes = GetParam(), late = pes / 2;
  const auto bound = (kDeadline + kEndBound) * testing::kSlow;
  const auto start = [&] {
    auto made = std::make_unique<Command>(
        std::vector<std::string>{isotope_binary(), "run", "-n", std::to_string(pes), test_program("fault_pe"),
                                 std::to_string(late), "never_init", "barrier"},
        std::vector<std::pair<std::string, std::string>>{{"ISOTOPE_BOOTSTRAP_DEADLINE", "2s"}});
    EXPECT_EQ(made->wait(), 1) << made->err();
    return made;
  };
  const auto ran = testing::until_on_time(start, [&](const Command& made) {
    return made.took() <= bound && made.err().find("does not answer") == std::string::npos;
  });
  const Command& run = *ran;
  EXPECT_GE(run.took(), kEarliest) << run.err();
  EXPECT_LE(run.took(), bound) << run.err();
  EXPECT_NE(run.err().find("PE " + std::to_string(late)), std::string::npos) << run.err();
  EXPECT_NE(run.err().find("ISOTOPE_BOOTSTRAP_DEADLINE"), std::string::npos) << run.err();
  EXPECT_EQ(testing::count_of(run.out(), "ready"), 1) << "only the late one prints it";
  EXPECT_TRUE(no_process_left(1s));
}

// PEs as threads: one of them has something better to do.
class ArrivalOfThreads : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, ArrivalOfThreads, ::testing::Values(2, 5), ::testing::PrintToStringParamName());

TEST_P(ArrivalOfThreads, NeverHappens) {
  const int pes = GetParam();
  struct Times {
    std::atomic<int> came{0}, timeouts{0};
    std::atomic<std::uint64_t> longest{0};
  };
  const auto run = [pes] {
    auto made = std::make_unique<Times>();
    run_threads(pes, [&] {
      if (made->came++ == pes - 1) {
        while (made->timeouts < pes - 1) std::this_thread::sleep_for(1ms);
        return;
      }
      const std::uint64_t began = testing::now_ns();
      try {
        World world = init({.bootstrap_deadline = kDeadline});
        ADD_FAILURE() << "init() returned without all PEs";
      } catch (const Error& error) {
        const std::uint64_t took = testing::now_ns() - began;
        EXPECT_EQ(error.code(), Code::timeout) << error.what();
        EXPECT_NE(error.peer(), Error::kNobody) << error.what();
        expect_lists(error.what(), {error.peer()});
        EXPECT_GE(std::chrono::nanoseconds(took), kEarliest);
        std::uint64_t longest = made->longest;
        while (longest < took && !made->longest.compare_exchange_weak(longest, took)) {
        }
      }
      ++made->timeouts;
    });
    return made;
  };
  const auto longest = [](const Times& times) { return std::chrono::nanoseconds(times.longest.load()); };
  const auto times =
      testing::until_on_time(run, [&](const Times& made) { return longest(made) <= kLatest * testing::kSlow; });
  EXPECT_LE(longest(*times), kLatest * testing::kSlow);
  EXPECT_EQ(times->timeouts, pes - 1);
}

// Late, but in time: no fault at all.
TEST(Arrival, InTimeIsFine) {
  FaultJob job({3, PesAs::processes}, {.bootstrap_deadline = 10s});
  job.run([](World& world, Seat&) { world.barrier(); });
  for (int pe = 0; pe < 3; ++pe) EXPECT_TRUE(job.returned(pe));
}

}  // namespace
}  // namespace isotope
