// The star over socket pairs: all-gathers at several sizes, failures that release everybody in time, one socket shared
// by several Worlds and threads.
#include <gtest/gtest.h>
#include <signal.h>

#include "support.hpp"

// PEs are forked from a process with threads, and start threads themselves; the thread sanitizer refuses that unless
// told.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }

namespace isotope::bootstrap {
namespace {

using namespace testing;

class StarAtSize : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, StarAtSize, ::testing::Values(1, 2, 3, 5, 8));

TEST_P(StarAtSize, ThreadsGather) {
  const int n = GetParam();
  Star star(n);
  star.start();
  on_threads(n, [&](int rank) {
    auto boot = client_over(channel_over(star.take_end(rank), rank, n));
    EXPECT_TRUE(gather_rounds(*boot, 20));
    EXPECT_TRUE(gather_rounds(*boot, 2, 30'000));
    boot->barrier();
    boot->leave();
  });
  star.stop();
  star.with([&](StarServer& server) {
    server.handle();
    EXPECT_FALSE(server.notice());
    for (int rank = 0; rank < n; ++rank) {
      EXPECT_TRUE(server.status(rank).joined);
      EXPECT_TRUE(server.status(rank).closed);
      EXPECT_EQ(server.status(rank).open_worlds, 0);
    }
  });
}

TEST_P(StarAtSize, ProcessesGather) {
  const int n = GetParam();
  Star star(n);
  const auto statuses = on_processes(
      n,
      [&](int rank) {
        os::Fd mine = star.take_end(rank);
        star.close_ends();  // a PE holds its own end only
        auto boot = client_over(channel_over(std::move(mine), rank, n));
        if (!gather_rounds(*boot, 20) || !gather_rounds(*boot, 1, kMaxAllgatherBytes - 100)) return 1;
        boot->leave();
        return 0;
      },
      [&](const auto&) {
        star.close_ends();
        star.start();
      });
  for (const int status : statuses) EXPECT_EQ(status, 0);
  EXPECT_FALSE(star.with([](StarServer& server) { return server.notice().has_value(); }));
}

TEST_P(StarAtSize, EveryCallSplitAtEachByte) {
  const int n = GetParam();
  Star star(n);
  star.start();
  os::set_io_chunk_for_tests(1);
  on_threads(n, [&](int rank) {
    auto boot = client_over(channel_over(star.take_end(rank), rank, n));
    EXPECT_TRUE(gather_rounds(*boot, 3, 50));
    boot->leave();
  });
  os::set_io_chunk_for_tests(0);
}

TEST(Star, EmptyAndTooLongParts) {
  Star star(2);
  star.start();
  on_threads(2, [&](int rank) {
    auto boot = client_over(channel_over(star.take_end(rank), rank, 2));
    EXPECT_TRUE(boot->allgather({}).empty());
    EXPECT_EQ(error_of([&] { boot->allgather(Bytes(kMaxAllgatherBytes + 1)); }).code(), Code::invalid_argument);
    EXPECT_EQ(boot->allgather(Bytes(kMaxAllgatherBytes)).size(), 2 * kMaxAllgatherBytes);
    boot->leave();
  });
}

TEST(Star, DifferentCountsTellEverybodyAllCounts) {
  Star star(3);
  star.start();
  on_threads(3, [&](int rank) {
    auto boot = client_over(channel_over(star.take_end(rank), rank, 3));
    const Error error = error_of([&] { boot->allgather(Bytes(rank == 1 ? 9 : 4)); });
    EXPECT_EQ(error.code(), Code::mismatch);
    EXPECT_EQ(error.pe(), rank);
    EXPECT_NE(std::string(error.what()).find("PEs 0, 2: 4 bytes"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("PE 1: 9 bytes"), std::string::npos);
  });
  EXPECT_FALSE(star.with([](StarServer& server) { return server.notice().has_value(); }));
}

TEST(Star, TimeoutComesAtTheDeadlineAndNamesTheMissing) {
  constexpr std::uint64_t kDeadline = 2 * kSecond;
  Star star(5);
  star.start();
  const std::vector<int> come{0, 2, 3};
  on_threads(3, [&](int i) {
    const int rank = come[static_cast<std::size_t>(i)];
    auto boot = client_over(channel_over(star.take_end(rank), rank, 5), kDeadline);
    const std::uint64_t start = os::now_ns();
    const Error error = error_of([&] { boot->barrier(); });
    EXPECT_TRUE(at_deadline(start, kDeadline));
    EXPECT_EQ(error.code(), Code::timeout);
    EXPECT_EQ(error.peer(), 1);
    EXPECT_NE(std::string(error.what()).find("PEs 1, 4 of 5"), std::string::npos) << error.what();
    // Dropped without leave(), as a stack that unwinds does: no news for the others, who wait for their own deadline.
  });
}

TEST(Star, AStoppedServerStillLetsPesGiveUp) {
  constexpr std::uint64_t kDeadline = kSecond;
  Star star(1);  // never started: nobody answers
  auto boot = client_over(channel_over(star.take_end(0), 0, 1), kDeadline);
  const std::uint64_t start = os::now_ns();
  const Error error = error_of([&] { boot->barrier(); });
  EXPECT_TRUE(at_deadline(start, kDeadline));
  EXPECT_EQ(error.code(), Code::timeout);
}

TEST(Star, LateComersAreToldAtOnceThatOthersGaveUp) {
  Star star(2);
  star.start();
  {
    auto first = client_over(channel_over(star.take_end(0), 0, 2), 100 * kMs);
    EXPECT_EQ(error_of([&] { first->barrier(); }).code(), Code::timeout);
  }
  auto second = client_over(channel_over(star.take_end(1), 1, 2));
  const std::uint64_t start = os::now_ns();
  const Error error = error_of([&] { second->barrier(); });
  EXPECT_EQ(error.peer(), 0);
  EXPECT_LT(seconds_since(start), kSoon);
}

TEST(Star, AKilledPeReleasesTheOthersQuickly) {
  for (int round = 0; round < 10; ++round) {
    constexpr int kPes = 4;
    Star star(kPes);
    const auto statuses = on_processes(
        kPes,
        [&](int rank) {
          os::Fd mine = star.take_end(rank);
          star.close_ends();
          auto boot = client_over(channel_over(std::move(mine), rank, kPes));
          boot->barrier();
          if (rank == 2) ::kill(::getpid(), SIGKILL);
          const std::uint64_t start = os::now_ns();
          const Error error = error_of([&] { boot->barrier(); });
          if (error.code() != Code::peer_lost || error.peer() != 2) return 1;
          return seconds_since(start) < 2.0 ? 0 : 2;
        },
        [&](const auto&) {
          star.close_ends();
          star.start();
        });
    for (int rank = 0; rank < kPes; ++rank) {
      const int status = statuses[static_cast<std::size_t>(rank)];
      if (rank == 2)
        EXPECT_TRUE(WIFSIGNALED(status));
      else
        EXPECT_EQ(status, 0) << "rank " << rank;
    }
    star.with([](StarServer& server) {
      ASSERT_TRUE(server.notice());
      EXPECT_EQ(server.notice()->peer, 2);
      EXPECT_GT(server.status(2).open_worlds, 0);
    });
  }
}

TEST(Star, APeThatEndsBeforeInitReleasesTheOthers) {
  Star star(2);
  star.start();
  std::thread other([&] {
    os::Fd end = star.take_end(1);
    end.reset();
  });
  auto boot = client_over(channel_over(star.take_end(0), 0, 2));
  const std::uint64_t start = os::now_ns();
  const Error error = error_of([&] { boot->barrier(); });
  EXPECT_EQ(error.code(), Code::peer_lost);
  EXPECT_EQ(error.peer(), 1);
  EXPECT_LT(seconds_since(start), kSoon);
  other.join();
}

TEST(Star, APeThatNeverUsesUsMayEnd) {
  Star star(2);
  star.start();
  star.take_end(0).reset();
  star.take_end(1).reset();
  for (int rank = 0; rank < 2; ++rank)
    while (!star.with([&](StarServer& server) { return server.status(rank).closed; })) std::this_thread::yield();
  EXPECT_FALSE(star.with([](StarServer& server) { return server.notice().has_value(); }));
}

TEST(Star, LeavingWhileOthersNeedItIsNamed) {
  Star star(2);
  star.start();
  auto zero = client_over(channel_over(star.take_end(0), 0, 2));
  auto one = client_over(channel_over(star.take_end(1), 1, 2));
  one->leave();
  one.reset();
  const Error error = error_of([&] { zero->barrier(); });
  EXPECT_EQ(error.code(), Code::peer_left);
  EXPECT_EQ(error.peer(), 1);
}

TEST(Star, DroppingAWorldWithoutLeavingIsALoss) {
  Star star(2);
  star.start();
  auto channel = channel_over(star.take_end(1), 1, 2);  // the socket stays open, as the launcher's does
  auto zero = client_over(channel_over(star.take_end(0), 0, 2));
  std::thread other([&] { client_over(channel).reset(); });
  const Error error = error_of([&] { zero->barrier(); });
  EXPECT_EQ(error.code(), Code::peer_lost);
  EXPECT_EQ(error.peer(), 1);
  other.join();
}

TEST(Star, AbortReachesEverybodyAndTheFirstWins) {
  constexpr int kPes = 3;
  Star star(kPes);
  star.start();
  on_threads(kPes, [&](int rank) {
    auto boot = client_over(channel_over(star.take_end(rank), rank, kPes));
    boot->barrier();
    if (rank == 1) {
      boot->abort({Code::exited, Error::kNobody, 1, 42, "PE 1 called global_exit(42)"});
      boot->abort({Code::aborted, Error::kNobody, 0, 0, "too late"});
      EXPECT_EQ(error_of([&] { boot->barrier(); }).code(), Code::exited);
      EXPECT_FALSE(boot->drain_notice());  // its own
    } else {
      const Error error = error_of([&] { boot->barrier(); });
      EXPECT_EQ(error.code(), Code::exited);
      EXPECT_STREQ(error.what(), "PE 1 called global_exit(42)");
      const auto notice = boot->drain_notice();
      ASSERT_TRUE(notice);
      EXPECT_EQ(notice->by, 1);
      EXPECT_EQ(notice->exit_code, 42);
    }
  });
  star.with([](StarServer& server) {
    ASSERT_TRUE(server.notice());
    EXPECT_EQ(server.notice()->exit_code, 42);
  });
}

TEST(Star, AbortFromAnotherThreadReleasesOnesOwnWait) {
  Star star(2);
  star.start();
  auto boot = client_over(channel_over(star.take_end(0), 0, 2));
  std::thread other([&] { boot->abort({Code::aborted, 0, 0, 0, "enough"}); });
  EXPECT_EQ(error_of([&] { boot->barrier(); }).code(), Code::aborted);
  other.join();
}

bool readable(int fd, int timeout_ms) {
  std::array<os::PollEntry, 1> entry{{{fd, os::kReadable, false}}};
  os::poll_fds(entry, timeout_ms);
  return entry[0].ready;
}

TEST(Star, TheWatchSeesNoticesAndTheLaunchersEnd) {
  auto star = std::make_unique<Star>(2);
  star->start();
  auto zero = client_over(channel_over(star->take_end(0), 0, 2));
  auto one = client_over(channel_over(star->take_end(1), 1, 2, false));
  EXPECT_FALSE(readable(zero->watch_fd(), 0));
  EXPECT_FALSE(zero->drain_notice());
  star->stop();
  star.reset();
  ASSERT_TRUE(readable(zero->watch_fd(), 5000));
  const auto notice = zero->drain_notice();
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->code, Code::launcher_lost);
  // Where the other end is only the root of a rendezvous, its end says nothing, and wakes the watch only once.
  ASSERT_TRUE(readable(one->watch_fd(), 5000));
  EXPECT_FALSE(one->drain_notice());
  EXPECT_FALSE(readable(one->watch_fd(), 0));
  zero->leave();
  one->leave();
}

TEST(Star, WorldsShareOneSocketAndEveryWatchIsToldOnce) {
  Star star(2);
  star.start();
  auto c0 = channel_over(star.take_end(0), 0, 2);
  auto c1 = channel_over(star.take_end(1), 1, 2);
  std::vector<std::unique_ptr<StarClient>> zero, one;
  for (int i = 0; i < 3; ++i) {
    zero.push_back(client_over(c0));
    one.push_back(client_over(c1));
  }
  // A thread for each World, and for each a watch that drains the same socket all the time.
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (auto* side : {&zero, &one})
    for (auto& boot : *side) {
      threads.emplace_back([&boot] { EXPECT_TRUE(gather_rounds(*boot, 100, 2000)); });
    }
  std::vector<std::thread> watches;
  for (auto& boot : zero)
    watches.emplace_back([&] {
      while (!done) EXPECT_FALSE(readable(boot->watch_fd(), 10) && boot->drain_notice());
    });
  for (std::thread& thread : threads) thread.join();
  done = true;
  for (std::thread& thread : watches) thread.join();

  // One World of the process leaves and another begins; the socket goes on.
  zero[1]->leave();
  one[1]->leave();
  zero[1].reset();
  one[1].reset();
  zero[1] = client_over(c0);
  one[1] = client_over(c1);
  std::thread peer([&] { EXPECT_TRUE(gather_rounds(*one[1], 5)); });
  EXPECT_TRUE(gather_rounds(*zero[1], 5));
  peer.join();

  star.with([](StarServer& server) { EXPECT_EQ(server.status(0).open_worlds, 3); });
  one[2]->abort({Code::kernel_failed, 1, 1, 0, "boom"});
  for (auto& boot : zero) {
    ASSERT_TRUE(readable(boot->watch_fd(), 5000));
    const auto notice = boot->drain_notice();
    ASSERT_TRUE(notice);
    EXPECT_EQ(notice->code, Code::kernel_failed);
  }
  // The other Worlds of the PE that aborted learn it as well.
  EXPECT_TRUE(readable(one[0]->watch_fd(), 5000));
  EXPECT_TRUE(one[0]->drain_notice());
}

TEST(Star, APeThatBreaksTheProtocolEndsTheJob) {
  const Frame odd[] = {Join{5}, Allgather{0, 0, 0, {}}, Leave{0}};
  for (const Frame& frame : odd) {
    Star star(2);
    star.start();
    const os::Fd bad = star.take_end(1);
    auto boot = client_over(channel_over(star.take_end(0), 0, 2));
    const Bytes bytes = encode(frame);
    os::send_some(bad.get(), bytes);
    const Error error = error_of([&] { boot->barrier(); });
    EXPECT_EQ(error.code(), Code::refused);
    EXPECT_EQ(error.peer(), 1);
  }
}

TEST(Star, AnotherVersionIsRefusedAndBothAreNamed) {
  Star star(2);
  star.start();
  const os::Fd other = star.take_end(1);
  auto boot = client_over(channel_over(star.take_end(0), 0, 2));
  os::send_some(other.get(), encode(Join{0}, Dialect{9, kFeatures}));
  const Error error = error_of([&] { boot->barrier(); });
  EXPECT_EQ(error.code(), Code::refused);
  EXPECT_NE(std::string(error.what()).find("version 9"), std::string::npos) << error.what();
  EXPECT_NE(std::string(error.what()).find("version 1"), std::string::npos);
  // And a PE whose server is of another version says so itself.
  auto [mine, theirs] = os::stream_pair();
  auto lonely = client_over(channel_over(std::move(mine), 0, 2));
  os::send_some(theirs.get(), encode(AbortNotice{}, Dialect{9, kFeatures}));
  const Error own = error_of([&] { lonely->barrier(); });
  EXPECT_EQ(own.code(), Code::refused);
  EXPECT_NE(std::string(own.what()).find("version 9"), std::string::npos) << own.what();
}

TEST(Star, AForkedCopySaysNothing) {
  Star star(1);
  auto channel = channel_over(star.take_end(0), 0, 1);
  auto boot = client_over(channel);
  const auto statuses = on_processes(1, [&](int) {
    if (error_of([&] { boot->barrier(); }).code() != Code::forked) return 1;
    boot->abort({Code::aborted, 0, 0, 0, "from the child"});
    boot.reset();
    return 0;
  });
  EXPECT_EQ(statuses[0], 0);
  star.start();
  boot->barrier();
  boot->leave();
  EXPECT_FALSE(star.with([](StarServer& server) { return server.notice().has_value(); }));
}

TEST(Star, ANoticeIsToldToThoseWhoComeLate) {
  StarServer server(2);
  server.end_job({Code::aborted, Error::kNobody, 0, 0, "over"});
  auto [mine, theirs] = os::stream_pair();
  server.attach(0, std::move(mine));
  auto boot = client_over(channel_over(std::move(theirs), 0, 2));
  EXPECT_EQ(error_of([&] { boot->barrier(); }).code(), Code::aborted);
  EXPECT_THROW(server.attach(0, os::Fd()), Error);
  EXPECT_THROW(server.attach(2, os::Fd()), Error);
}

}  // namespace
}  // namespace isotope::bootstrap
