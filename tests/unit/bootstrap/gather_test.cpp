// The state machine of all-gathers: completion, mismatch, deadlines of their own, and PEs that leave.
#include "bootstrap/gather.hpp"

#include <gtest/gtest.h>

#include "bootstrap/rank_list.hpp"
#include "support.hpp"

namespace isotope::bootstrap {
namespace {

using testing::bytes_of;
using testing::text_of;

TEST(RankList, WritesRanges) {
  EXPECT_EQ(rank_list({3}), "PE 3");
  EXPECT_EQ(rank_list({0, 1, 2, 7}), "PEs 0-2, 7");
  EXPECT_EQ(rank_list({1, 2, 5}), "PEs 1, 2, 5");
  std::vector<int> odd;
  for (int i = 1; i < 4000; i += 2) odd.push_back(i);
  EXPECT_LT(rank_list(odd).size(), 500u);
  EXPECT_NE(rank_list(odd).find("more"), std::string::npos);
}

TEST(Gather, CompletesInRankOrderRoundAfterRound) {
  Gather gather(3);
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(gather.post(2, bytes_of("cc"), 100).empty());
    EXPECT_TRUE(gather.post(0, bytes_of("aa"), 50).empty());
    EXPECT_EQ(gather.next_deadline(), 50u);
    const auto answers = gather.post(1, bytes_of("bb"), 70);
    ASSERT_EQ(answers.size(), 3u);
    for (const auto& answer : answers) EXPECT_EQ(text_of(*answer.all), "aabbcc");
    EXPECT_FALSE(gather.next_deadline());
  }
}

TEST(Gather, DifferentCountsFailForEverybodyWithAllCounts) {
  Gather gather(4);
  gather.post(0, bytes_of("12345678"), 1);
  gather.post(1, bytes_of("12345678"), 1);
  gather.post(3, bytes_of("123"), 1);
  const auto answers = gather.post(2, bytes_of("12345678"), 1);
  ASSERT_EQ(answers.size(), 4u);
  for (const auto& answer : answers) {
    EXPECT_EQ(answer.refusal.code, Code::mismatch);
    EXPECT_NE(answer.refusal.message.find("PEs 0-2: 8 bytes"), std::string::npos) << answer.refusal.message;
    EXPECT_NE(answer.refusal.message.find("PE 3: 3 bytes"), std::string::npos);
  }
}

TEST(Gather, EachWaiterHasItsOwnDeadlineAndNamesTheMissing) {
  Gather gather(5);
  gather.post(1, bytes_of("x"), 100);
  gather.post(4, bytes_of("x"), 200);
  EXPECT_TRUE(gather.expire(99).empty());
  const auto first = gather.expire(100);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].rank, 1);
  EXPECT_EQ(first[0].refusal.code, Code::timeout);
  EXPECT_EQ(first[0].refusal.peer, 0);
  EXPECT_NE(first[0].refusal.message.find("PEs 0, 2, 3 of 5"), std::string::npos) << first[0].refusal.message;
  EXPECT_TRUE(gather.failed(1));
  // The one that gave up leaves; the other still waits, and names who never came.
  EXPECT_TRUE(gather.leave(1).empty());
  const auto second = gather.expire(200);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_NE(second[0].refusal.message.find("PEs 0, 2, 3 of 5"), std::string::npos) << second[0].refusal.message;
}

TEST(Gather, WhoComesAfterAnotherGaveUpIsToldAtOnce) {
  Gather gather(3);
  gather.post(0, bytes_of("x"), 100);
  gather.post(1, bytes_of("x"), 500);
  gather.expire(100);
  const auto answers = gather.post(2, bytes_of("x"), 900);
  // Rank 1 waited for rank 2 alone, so it is released too.
  ASSERT_EQ(answers.size(), 2u);
  for (const auto& answer : answers) {
    EXPECT_EQ(answer.refusal.code, Code::timeout);
    EXPECT_EQ(answer.refusal.peer, 0);
  }
}

TEST(Gather, LeavingReleasesThoseWhoNeedIt) {
  Gather gather(3);
  gather.post(0, bytes_of("x"), 100);
  const auto answers = gather.leave(2);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].refusal.code, Code::peer_left);
  EXPECT_EQ(answers[0].refusal.peer, 2);
  const auto later = gather.post(1, bytes_of("x"), 100);
  ASSERT_EQ(later.size(), 1u);
  EXPECT_EQ(later[0].refusal.code, Code::peer_left);
}

}  // namespace
}  // namespace isotope::bootstrap
