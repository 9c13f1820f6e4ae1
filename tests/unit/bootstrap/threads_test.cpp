// The bootstraps that need no socket: threads of one process, the user's callback, one PE alone.
#include <gtest/gtest.h>

#include <barrier>

#include "support.hpp"

namespace isotope::bootstrap {
namespace {

using namespace testing;

class ThreadsAtSize : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, ThreadsAtSize, ::testing::Values(1, 2, 3, 5, 8));

TEST_P(ThreadsAtSize, Gather) {
  const int n = GetParam();
  auto all = for_threads(n, make_knobs());
  on_threads(n, [&](int rank) {
    Bootstrap& boot = *all[static_cast<std::size_t>(rank)];
    EXPECT_EQ(boot.rank(), rank);
    EXPECT_EQ(boot.size(), n);
    EXPECT_TRUE(gather_rounds(boot, 200));
    boot.leave();
  });
}

TEST(Threads, TimeoutNamesTheMissing) {
  auto all = for_threads(4, make_knobs(kSecond));
  on_threads(2, [&](int rank) {
    const std::uint64_t start = os::now_ns();
    const Error error = error_of([&] { all[static_cast<std::size_t>(rank)]->barrier(); });
    EXPECT_EQ(error.code(), Code::timeout);
    EXPECT_NE(std::string(error.what()).find("PEs 2, 3 of 4"), std::string::npos) << error.what();
    EXPECT_TRUE(at_deadline(start, kSecond));
  });
}

TEST(Threads, ALostThreadReleasesTheOthers) {
  auto all = for_threads(3, make_knobs());
  on_threads(3, [&](int rank) {
    auto boot = std::move(all[static_cast<std::size_t>(rank)]);
    boot->barrier();
    if (rank == 1) return;  // unwinds without leave()
    const std::uint64_t start = os::now_ns();
    const Error error = error_of([&] { boot->barrier(); });
    EXPECT_EQ(error.code(), Code::peer_lost);
    EXPECT_EQ(error.peer(), 1);
    EXPECT_LT(seconds_since(start), kSoon);
    const auto notice = boot->drain_notice();
    ASSERT_TRUE(notice);
    EXPECT_EQ(notice->peer, 1);
  });
}

TEST(Threads, AbortLeaveAndMismatch) {
  {
    auto all = for_threads(2, make_knobs());
    std::thread other([&] { all[1]->abort({Code::exited, Error::kNobody, 1, 3, "bye"}); });
    EXPECT_EQ(error_of([&] { all[0]->barrier(); }).code(), Code::exited);
    other.join();
    EXPECT_FALSE(all[1]->drain_notice());
    EXPECT_EQ(all[0]->drain_notice()->exit_code, 3);
  }
  {
    auto all = for_threads(2, make_knobs());
    all[1]->leave();
    all[1].reset();
    EXPECT_EQ(error_of([&] { all[0]->barrier(); }).code(), Code::peer_left);
  }
  {
    auto all = for_threads(2, make_knobs());
    on_threads(2, [&](int rank) {
      const Error error =
          error_of([&] { all[static_cast<std::size_t>(rank)]->allgather(Bytes(static_cast<std::size_t>(rank) + 1)); });
      EXPECT_EQ(error.code(), Code::mismatch);
    });
  }
  EXPECT_THROW(for_threads(0, make_knobs()), Error);
}

/// An all-gather over plain memory, as a user might bring one.
struct Plain {
  explicit Plain(int n) : size(n), meet(n) {}
  AllgatherFn function(int rank) {
    return [this, rank](const void* mine, void* all, std::size_t bytes) {
      const auto n = static_cast<std::size_t>(size);
      if (rank == 0) buffer.assign(n * bytes, std::byte{});
      meet.arrive_and_wait();
      std::memcpy(buffer.data() + static_cast<std::size_t>(rank) * bytes, mine, bytes);
      meet.arrive_and_wait();
      std::memcpy(all, buffer.data(), n * bytes);
      meet.arrive_and_wait();
    };
  }
  int size;
  std::barrier<> meet;
  Bytes buffer;
};

TEST(Callback, Gathers) {
  for (const int n : {1, 3, 5}) {
    Plain plain(n);
    on_threads(n, [&](int rank) {
      auto boot = from_callback(rank, n, plain.function(rank));
      EXPECT_EQ(boot->name(), "callback");
      EXPECT_EQ(boot->watch_fd(), -1);
      EXPECT_TRUE(gather_rounds(*boot, 10));
      EXPECT_TRUE(boot->allgather({}).empty());
      boot->leave();
    });
  }
}

TEST(Callback, NoticesDifferentCountsAndMixedUpRanks) {
  {
    Plain plain(2);
    on_threads(2, [&](int rank) {
      auto boot = from_callback(rank, 2, plain.function(rank));
      const Error error = error_of([&] { boot->allgather(Bytes(rank == 0 ? 4 : 8)); });
      EXPECT_EQ(error.code(), Code::mismatch);
      EXPECT_NE(std::string(error.what()).find("PE 0: 4 bytes, PE 1: 8 bytes"), std::string::npos) << error.what();
    });
  }
  {
    Plain plain(2);
    on_threads(2, [&](int rank) {
      auto boot = from_callback(rank, 2, plain.function(1 - rank));
      EXPECT_EQ(error_of([&] { boot->barrier(); }).code(), Code::mismatch);
    });
  }
}

TEST(Callback, WhatTheFunctionThrowsBecomesAnError) {
  auto boot = from_callback(0, 2, [](const void*, void*, std::size_t) { throw std::runtime_error("no network"); });
  const Error error = error_of([&] { boot->barrier(); });
  EXPECT_EQ(error.code(), Code::bootstrap_failed);
  EXPECT_NE(std::string(error.what()).find("no network"), std::string::npos);
  EXPECT_THROW(from_callback(2, 2, [](const void*, void*, std::size_t) {}), Error);
  EXPECT_THROW(from_callback(0, 2, nullptr), Error);
}

TEST(Single, IsAlone) {
  auto boot = single();
  EXPECT_EQ(boot->size(), 1);
  EXPECT_TRUE(gather_rounds(*boot, 3));
  boot->abort({Code::aborted, 0, 0, 0, "enough"});
  EXPECT_EQ(error_of([&] { boot->barrier(); }).code(), Code::aborted);
}

}  // namespace
}  // namespace isotope::bootstrap
