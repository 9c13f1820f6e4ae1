// Streams: order, events, callbacks, failures, who runs the work, and the end of a queue.
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "exec/event.hpp"
#include "support.hpp"

namespace isotope::test {
namespace {

using Queue = std::shared_ptr<exec::StreamQueue>;

void set_on_many(std::uint32_t* cells, std::uint32_t value) {
  const Block b = this_block();
  cells[b.rank() * b.size() + b.thread_rank()] += value;
}

void wait_for(const std::atomic<int>& flag, int value) {
  relax_until([&] { return flag >= value; });
}

TEST(Stream, LaunchRunsABoundKernelOnEveryThread) {
  const Queue q = make_queue();
  std::vector<std::uint32_t> cells(4 * 96);
  q->launch({4, 96, 0}, detail::bind_kernel<set_on_many>(cells.data(), 3));
  q->launch({4, 96, 0}, detail::bind_kernel<set_on_many>(cells.data(), 4));
  q->synchronize();
  for (std::uint32_t cell : cells) EXPECT_EQ(cell, 7u);
}

TEST(Stream, WorkRunsInTheOrderOfTheCalls) {
  const Queue q = make_queue();
  std::vector<int> order;
  for (int i = 0; i < 300; ++i) {
    if (i % 3 == 0) {
      q->call([&order, i] { order.push_back(i); });
    } else {
      q->launch({1, static_cast<std::uint32_t>(1 + i % 3), 0}, [&order, i] {
        this_block().sync();
        if (this_block().is_leader()) order.push_back(i);
      });
    }
    if (i % 70 == 0) q->synchronize();
  }
  q->synchronize();
  ASSERT_EQ(order.size(), 300u);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

// The worker sleeps while another thread is busy, and nobody tells it of work that comes meanwhile.
TEST(Stream, WorkLeftBehindByWhoeverWaitedIsTakenUp) {
  const Queue q = make_queue();
  q->call([] {});
  q->synchronize();
  int by_the_waiter = 0;
  for (int attempt = 0; attempt < 50 && by_the_waiter < 3; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the worker goes to sleep
    std::atomic<int> started{0}, released{0}, second{0};
    std::thread::id runner;
    std::thread waiter([&] {
      q->call([&] {
        runner = std::this_thread::get_id();
        started = 1;
        wait_for(released, 1);
      });
      q->synchronize();
    });
    const std::thread::id waiters = waiter.get_id();
    ASSERT_TRUE(eventually([&] { return started == 1; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // it has looked, found somebody busy, and sleeps again
    q->call([&] { second = 1; });
    released = 1;
    waiter.join();
    ASSERT_TRUE(eventually([&] { return second == 1; }));
    by_the_waiter += runner == waiters;  // else the worker was quicker, which is no test of this
  }
  EXPECT_EQ(by_the_waiter, 3);
}

TEST(Stream, WorkStartsWithoutSynchronize) {
  const Queue q = make_queue();
  std::atomic<int> ran{0};
  EXPECT_TRUE(q->idle());
  q->launch({1, 1, 0}, [&] { ++ran; });
  EXPECT_TRUE(eventually([&] { return q->idle(); }));
  EXPECT_EQ(ran, 1);
  // Again after the worker went to sleep for good.
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  q->launch({1, 1, 0}, [&] { ++ran; });
  EXPECT_TRUE(eventually([&] { return q->idle(); }));
  EXPECT_EQ(ran, 2);
}

TEST(Stream, SynchronizeRunsTheWorkOnTheCallingThread) {
  const Queue q = make_queue();
  int inline_runs = 0;
  for (int i = 0; i < 1000; ++i) {
    std::thread::id where;
    q->launch({1, 1, 0}, [&] { where = std::this_thread::get_id(); });
    q->synchronize();
    inline_runs += where == std::this_thread::get_id();
  }
  EXPECT_GT(inline_runs, kTsan ? 500 : 900);  // now and then the worker is first
}

TEST(Stream, TwoStreamsWhoseKernelsWaitForEachOther) {
  const Queue a = make_queue(), b = make_queue();
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> from_a{0}, from_b{0};
    a->launch({2, 32, 0}, [&] {
      if (this_block().is_leader()) ++from_a;
      wait_for(from_b, 2);
    });
    b->launch({2, 32, 0}, [&] {
      wait_for(from_a, 2);
      if (this_block().is_leader()) ++from_b;
    });
    (round % 2 == 0 ? a : b)->synchronize();
    (round % 2 == 0 ? b : a)->synchronize();
    EXPECT_EQ(from_a, 2);
    EXPECT_EQ(from_b, 2);
  }
}

TEST(Stream, EventsOrderStreams) {
  const Queue a = make_queue(), b = make_queue(), c = make_queue();
  std::atomic<int> step{0};
  int wrong = 0;
  for (int round = 0; round < 50; ++round) {
    const int base = round * 3;
    a->launch({1, 4, 0}, [&step, &wrong, base] {
      if (this_block().is_leader()) wrong += step.exchange(base + 1) != base;
    });
    b->wait(a->record());
    b->call([&step, &wrong, base] { wrong += step.exchange(base + 2) != base + 1; });
    c->wait(b->record());
    c->launch({1, 1, 0}, [&step, &wrong, base] { wrong += step.exchange(base + 3) != base + 2; });
    a->wait(c->record());
    if (round % 10 == 9) a->synchronize();
  }
  a->synchronize();
  EXPECT_EQ(step, 150);
  EXPECT_EQ(wrong, 0);
}

TEST(Stream, WaitingForAnEventRunsTheWorkBeforeIt) {
  const Queue a = make_queue(), b = make_queue();
  int here = 0;
  for (int i = 0; i < 500; ++i) {
    std::thread::id where;
    a->call([&] { where = std::this_thread::get_id(); });
    b->wait(a->record());
    b->synchronize();
    here += where == std::this_thread::get_id();
  }
  EXPECT_GT(here, kTsan || kAsan ? 100 : 400);  // now and then a worker is first
}

TEST(Stream, AnEventFinishesWhenWhatCameBeforeHas) {
  const Queue q = make_queue();
  std::atomic<int> go{0}, seen{0};
  q->launch({1, 1, 0}, [&] {
    wait_for(go, 1);
    ++seen;
  });
  const auto event = q->record();
  q->launch({1, 1, 0}, [&] { wait_for(go, 2); });
  EXPECT_FALSE(event->finished());
  EXPECT_FALSE(q->idle());
  go = 1;
  EXPECT_TRUE(eventually([&] { return event->finished(); }));
  EXPECT_EQ(seen, 1);
  EXPECT_FALSE(q->idle());
  go = 2;
  q->synchronize();
  EXPECT_TRUE(q->idle());
}

TEST(Stream, FailuresAreThrownOnceAndTheQueueGoesOn) {
  const Queue q = make_queue();
  int ran = 0;
  q->launch({1, 1, 0}, [] { throw std::runtime_error("first"); });
  q->call([] { throw std::runtime_error("second"); });
  q->call([&] { ++ran; });
  const Error e = error_of([&] { q->synchronize(); });
  EXPECT_EQ(e.code(), Code::kernel_failed);
  EXPECT_TRUE(contains(e.what(), "first")) << e.what();
  EXPECT_EQ(ran, 1);
  EXPECT_NO_THROW(q->synchronize());
  q->call([] { throw Error(Code::timeout, "third"); });
  const Error callback = error_of([&] { q->synchronize(); });
  EXPECT_EQ(callback.code(), Code::kernel_failed);
  EXPECT_TRUE(contains(callback.what(), "third")) << callback.what();
  q->call([] { throw 3; });
  EXPECT_EQ(error_of([&] { q->synchronize(); }).code(), Code::kernel_failed);
  EXPECT_NO_THROW(q->synchronize());
}

TEST(Stream, TheProbeIsAskedAfterWorkAndBySynchronize) {
  std::atomic<int> asked{0};
  std::atomic<bool> broken{false};
  const Queue q = make_queue([&]() -> std::exception_ptr {
    ++asked;
    if (broken.exchange(false)) return std::make_exception_ptr(Error(Code::timeout, "gave up", 1, 2));
    return nullptr;
  });
  q->launch({1, 1, 0}, [&] { broken = true; });
  q->launch({1, 1, 0}, [] {});
  const Error e = error_of([&] { q->synchronize(); });
  EXPECT_EQ(e.code(), Code::timeout);
  EXPECT_EQ(e.peer(), 2);
  EXPECT_EQ(asked, 2);  // after each launch; with a failure in hand synchronize need not ask
  EXPECT_NO_THROW(q->synchronize());
  EXPECT_EQ(asked, 3);
  broken = true;
  EXPECT_EQ(error_of([&] { q->synchronize(); }).code(), Code::timeout);
}

TEST(Stream, BadLaunchesAreRefusedAtOnceAndChangeNothing) {
  const Queue q = make_queue();
  EXPECT_EQ(error_of([&] { q->launch({1, 2000, 0}, [] {}); }).code(), Code::invalid_argument);
  EXPECT_EQ(error_of([&] { q->call(nullptr); }).code(), Code::invalid_argument);
  EXPECT_TRUE(q->idle());
  EXPECT_NO_THROW(q->synchronize());
}

TEST(Stream, SynchronizeWhereItWouldWaitForItselfIsRefused) {
  const Queue q = make_queue(), other = make_queue();
  int refused = 0;
  const auto refuses = [&](const std::function<void()>& fn) {
    try {
      fn();
    } catch (const Error& e) {
      refused += e.code() == Code::invalid_argument;
    }
  };
  std::shared_ptr<exec::EventState> later;
  q->call([&] { refuses([&] { q->synchronize(); }); });
  q->launch({1, 1, 0}, [&] { refuses([&] { q->synchronize(); }); });
  q->launch({1, 1, 0}, [&] { refuses([&] { other->synchronize(); }); });
  q->synchronize();
  EXPECT_EQ(refused, 3);
  // The event behind the callback that waits for it.
  std::atomic<int> ready{0};
  q->call([&] {
    while (ready == 0) std::this_thread::yield();
    refuses([&] { later->synchronize(); });
  });
  later = q->record();
  ready = 1;
  q->synchronize();
  EXPECT_EQ(refused, 4);
  // Another stream is fine.
  q->call([&] {
    other->call([&] { ++refused; });
    other->synchronize();
  });
  q->synchronize();
  EXPECT_EQ(refused, 5);
}

TEST(Stream, ACallbackMayEnqueueMore) {
  const Queue q = make_queue();
  std::vector<int> order;
  std::atomic<bool> second{false};
  q->call([&] {
    while (!second) std::this_thread::yield();
    order.push_back(1);
    q->call([&] { order.push_back(3); });
  });
  q->call([&] { order.push_back(2); });
  second = true;
  q->synchronize();
  EXPECT_GE(order.size(), 2u);
  q->synchronize();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(Stream, ManyThreadsUseOneStream) {
  const Queue q = make_queue();
  constexpr int kThreads = 4, kEach = 400;
  std::vector<int> last(kThreads, -1);  // touched by work only, which never overlaps
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const auto work = [&last, &wrong, t, i] {
          if (this_block().thread_rank() != 0) return;
          if (last[static_cast<std::size_t>(t)] != i - 1) ++wrong;
          last[static_cast<std::size_t>(t)] = i;
        };
        if (i % 2 == 0) {
          q->launch({1, 2, 0}, work);
        } else {
          q->call(work);
        }
        if (i % (17 + t) == 0) {
          q->synchronize();
          const auto mine = q->record();  // everything of mine up to here is done
          mine->synchronize();
        }
      }
      q->synchronize();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  for (int i : last) EXPECT_EQ(i, kEach - 1);
}

TEST(Stream, SynchronizeReturnsWhenTheWorkBeforeTheCallIsDone) {
  const Queue q = make_queue();
  std::atomic<int> stop{0};
  std::atomic<int> chained{0};
  // Work that always enqueues more: a synchronize that waited for an idle queue would not return.
  std::function<void()> again = [&] {
    ++chained;
    if (stop == 0) q->call(again);
  };
  q->call(again);
  for (int i = 0; i < 20; ++i) q->synchronize();
  stop = 1;
  EXPECT_TRUE(eventually([&] { return q->idle(); }));
  EXPECT_GE(chained, 20);
}

TEST(Stream, DestructionWaitsForWorkInProgressAndDropsTheRest) {
  Queue q = make_queue();
  std::atomic<int> started{0}, go{0}, ended{0}, dropped_ran{0};
  q->launch({1, 4, 0}, [&] {
    started = 1;
    wait_for(go, 1);
    ++ended;
  });
  q->call([&] { ++dropped_ran; });
  const auto event = q->record();
  ASSERT_TRUE(eventually([&] { return started == 1; }));
  std::thread destroyer([&] {
    q.reset();
    EXPECT_EQ(ended, 4);
  });
  go = 1;
  destroyer.join();
  EXPECT_TRUE(event->finished());  // nobody waits for ever for what was dropped
  EXPECT_LE(dropped_ran, 1);
}

TEST(Stream, ClosedQueuesRefuseEverything) {
  const Queue q = make_queue(), other = make_queue();
  std::atomic<int> started{0}, go{0}, late{0};
  q->launch({1, 1, 0}, [&] {
    started = 1;
    wait_for(go, 1);
  });
  q->call([&] { ++late; });
  const auto event = q->record();
  ASSERT_TRUE(eventually([&] { return started == 1; }));
  // Somebody waits for what will be dropped.
  std::thread waiter([&] { EXPECT_EQ(error_of([&] { q->synchronize(); }).code(), Code::not_initialized); });
  other->wait(event);
  std::thread closer([&] { q->close(); });
  EXPECT_TRUE(eventually([&] {
    try {
      q->record();
    } catch (const Error&) {
      return true;
    }
    return false;
  }));
  go = 1;
  closer.join();
  waiter.join();
  other->synchronize();
  for (const auto& call :
       std::vector<std::function<void()>>{[&] { q->launch({1, 1, 0}, [] {}); }, [&] { q->call([] {}); },
                                          [&] { q->record(); }, [&] { q->wait(event); }, [&] { q->synchronize(); }}) {
    EXPECT_EQ(error_of(call).code(), Code::not_initialized);
  }
  EXPECT_TRUE(q->idle());
  EXPECT_EQ(late, 0);
  q->close();
}

TEST(Stream, ClosingEndsAWaitForAForeignEvent) {
  const Queue a = make_queue();
  Queue b = make_queue();
  std::atomic<int> started{0}, go{0};
  a->launch({1, 1, 0}, [&] {
    started = 1;
    wait_for(go, 1);
  });
  ASSERT_TRUE(eventually([&] { return started == 1; }));
  b->wait(a->record());
  b.reset();  // would hang if the wait did not notice
  go = 1;
  a->synchronize();
}

TEST(Stream, ACallbackMayDropTheLastHandle) {
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> ran{0};
    {
      Queue q = make_queue();
      exec::StreamQueue* raw = q.get();
      raw->call([q = std::move(q), &ran] { ++ran; });
    }
    EXPECT_TRUE(eventually([&] { return ran == 1; }));
  }
}

TEST(Stream, AnEventOutlivesItsStream) {
  std::shared_ptr<exec::EventState> event;
  {
    const Queue q = make_queue();
    q->call([] {});
    event = q->record();
  }
  event->synchronize();
  EXPECT_TRUE(event->finished());
}

TEST(Stream, HandlesWithoutAQueueSayWhatToDo) {
  EXPECT_FALSE(Stream());
  const Error e = error_of([] { Stream().synchronize(); });
  EXPECT_EQ(e.code(), Code::invalid_argument);
  EXPECT_TRUE(contains(e.what(), "world.stream()")) << e.what();
  EXPECT_TRUE(Event().finished());
  Event().synchronize();
}

std::size_t resident_pages() {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident;
}

TEST(Stream, ManyLaunchesDoNotGrowMemory) {
  const Queue q = make_queue();
  const auto launches = [&](int count) {
    for (int i = 0; i < count; ++i) {
      if (i % 50 == 0) {
        q->launch({2, 64, 256}, [] {
          ISOTOPE_SHARED(int[100], cells);
          auto more = dynamic_shared<int>();
          cells[this_block().thread_rank()] = more[0] = 1;
          this_block().sync();
        });
      } else {
        q->launch({1, 1, 0}, [] {});
      }
      if (i % 10 == 0) q->wait(q->record());
      if (i % 5 == 0) q->synchronize();
    }
    q->synchronize();
  };
  launches(2000);
  const std::size_t before = resident_pages();
  launches(kTsan || kAsan ? 5000 : 100000);
  if (!kTsan && !kAsan) {
    EXPECT_LT(resident_pages(), before + 256);  // 1 MiB
  }
}

}  // namespace
}  // namespace isotope::test
