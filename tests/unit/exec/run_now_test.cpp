// StreamQueue::run: a kernel that its caller waits for, run by that thread where nothing comes before it.
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "exec/event.hpp"
#include "support.hpp"

namespace isotope::test {
namespace {

using Queue = std::shared_ptr<exec::StreamQueue>;

TEST(RunNow, AnIdleQueueRunsItOnTheCallingThread) {
  const Queue q = make_queue();
  for (std::uint32_t threads : {1u, 3u, 64u}) {
    std::vector<std::thread::id> where;
    q->run({2, threads, 0}, [&] {
      this_block().sync();
      where.push_back(std::this_thread::get_id());
    });
    EXPECT_EQ(where, std::vector(2 * threads, std::this_thread::get_id()));
    EXPECT_TRUE(q->idle());
  }
}

TEST(RunNow, WhatWasEnqueuedBeforeComesFirst) {
  const Queue q = make_queue();
  for (int round = 0; round < 200; ++round) {
    std::vector<int> order;
    q->launch({1, 1, 0}, [&] { order.push_back(1); });
    q->call([&] { order.push_back(2); });
    q->run({1, 1, 0}, [&] { order.push_back(3); });
    ASSERT_EQ(order, (std::vector{1, 2, 3}));
  }
}

TEST(RunNow, WhatComesMeanwhileIsTakenUpAfterIt) {
  const Queue q = make_queue();
  q->call([] {});
  q->synchronize();
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the worker goes to sleep
    std::atomic<bool> inside{false}, after{false}, too_early{false};
    std::thread other([&] {
      while (!inside) std::this_thread::yield();
      q->call([&] {
        too_early = inside.load();
        after = true;
      });
      inside = false;
    });
    q->run({1, 1, 0}, [&] {
      inside = true;
      relax_until([&] { return !inside; });
    });
    other.join();
    EXPECT_TRUE(eventually([&] { return after.load(); })) << "nobody synchronizes";
    EXPECT_FALSE(too_early);
  }
}

TEST(RunNow, ThrowsWhatFailedOnce) {
  std::atomic<bool> broken{false};
  const Queue q = make_queue([&]() -> std::exception_ptr {
    return broken.exchange(false) ? std::make_exception_ptr(Error(Code::timeout, "gave up", 1, 2)) : nullptr;
  });
  const Error thrown = error_of([&] { q->run({1, 1, 0}, [] { throw std::runtime_error("first"); }); });
  EXPECT_EQ(thrown.code(), Code::kernel_failed);
  EXPECT_TRUE(contains(thrown.what(), "first")) << thrown.what();
  EXPECT_NO_THROW(q->run({1, 1, 0}, [] {}));
  EXPECT_EQ(error_of([&] { q->run({1, 1, 0}, [&] { broken = true; }); }).code(), Code::timeout);
  EXPECT_NO_THROW(q->synchronize());
  // Of work before it, whoever ran that: and it runs nevertheless.
  bool ran = false;
  q->call([] { throw std::runtime_error("before"); });
  EXPECT_TRUE(eventually([&] { return q->idle(); }));
  const Error before = error_of([&] { q->run({1, 1, 0}, [&] { ran = true; }); });
  EXPECT_TRUE(contains(before.what(), "before")) << before.what();
  EXPECT_TRUE(ran);
  EXPECT_NO_THROW(q->synchronize());
}

TEST(RunNow, RefusesWhereItWouldWaitForItselfAndWhatCannotRun) {
  const Queue q = make_queue();
  int refused = 0;
  const auto refuses = [&] { refused += error_of([&] { q->run({1, 1, 0}, [] {}); }).code() == Code::invalid_argument; };
  q->run({1, 1, 0}, refuses);
  q->call(refuses);
  q->synchronize();
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(error_of([&] { q->run({1, 2000, 0}, [] {}); }).code(), Code::invalid_argument);
  EXPECT_TRUE(q->idle());
  q->close();
  EXPECT_EQ(error_of([&] { q->run({1, 1, 0}, [] {}); }).code(), Code::not_initialized);
}

TEST(RunNow, ManyThreadsRunOneAtATime) {
  const Queue q = make_queue();
  std::atomic<int> inside{0}, most{0}, runs{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        q->run({1, 1, 0}, [&] {
          const int now = ++inside;
          if (now > most) most = now;
          ++runs;
          --inside;
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs, 1200);
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace isotope::test
