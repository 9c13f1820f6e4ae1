// The segment of a World: the first cause of an abort wins, whole, whoever else tries.
#include "runtime/segment.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "os/memory.hpp"

namespace isotope::runtime {
namespace {

TEST(Segment, StartsWithNothingWrong) {
  const Segment segment = Segment::create(3);
  EXPECT_FALSE(segment.aborted());
  for (int pe = 0; pe < 3; ++pe) EXPECT_EQ(segment.pe(pe).state.load(), static_cast<std::uint32_t>(PeState::absent));
}

TEST(Segment, TheFirstOfManyNoticesWins) {
  for (int round = 0; round < 200; ++round) {
    const Segment segment = Segment::create(4);
    std::atomic<int> winners{0}, winner{-1}, ready{0};
    std::vector<std::thread> threads;
    for (int pe = 0; pe < 4; ++pe) {
      threads.emplace_back([&, pe] {
        ++ready;
        while (ready < 4) std::this_thread::yield();
        if (segment.abort(pe, {Code::aborted, pe, pe, 0, "said by PE " + std::to_string(pe)})) {
          ++winners;
          winner = pe;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(winners, 1);
    const auto notice = segment.aborted();
    ASSERT_TRUE(notice);
    EXPECT_EQ(notice->by, winner);
    EXPECT_EQ(notice->message, "said by PE " + std::to_string(winner));
  }
}

TEST(Segment, LongMessagesAreCut) {
  const Segment segment = Segment::create(1);
  EXPECT_TRUE(segment.abort(0, {Code::timeout, 0, 0, 0, std::string(5000, 'x')}));
  EXPECT_EQ(segment.aborted()->message, std::string(kReasonBytes - 1, 'x'));
  EXPECT_FALSE(segment.abort(0, {Code::aborted, 0, 0, 0, "too late"}));
  EXPECT_EQ(segment.aborted()->code, Code::timeout);
}

TEST(Segment, OpensOnlyWhatFits) {
  const Segment made = Segment::create(2);
  const Segment opened = Segment::open(os::duplicate(made.fd()), 2);
  EXPECT_TRUE(made.abort(1, {Code::aborted, 1, 1, 0, "seen through both mappings"}));
  EXPECT_EQ(opened.aborted()->message, "seen through both mappings");
  EXPECT_THROW(Segment::open(os::duplicate(made.fd()), 200), Error);
  EXPECT_THROW(Segment::open(os::create_shared_file("empty", os::file_bytes(made.fd())), 2), Error) << "no magic";
}

}  // namespace
}  // namespace isotope::runtime
