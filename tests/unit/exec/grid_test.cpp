// Launches as a whole: limits, blocks that wait for each other, failures, many fibers, waits that cost little.
#include <time.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "exec/fiber.hpp"
#include "support.hpp"

namespace isotope::test {
namespace {

// A stack size of its own gives a test a pool of its own to count in.
std::uint32_t fibers_mapped(std::size_t stack_bytes) { return exec::FiberPool::of(stack_bytes).mapped(); }

TEST(Grid, LimitsNameFieldValueAndKnob) {
  const auto check = [](Dim3 grid, Dim3 block, std::size_t shared, std::initializer_list<const char*> parts) {
    int ran = 0;
    const Error e = error_of([&] { run(grid, block, [&] { ++ran; }, shared, {.max_fibers = 65536}); });
    EXPECT_EQ(e.code(), Code::invalid_argument);
    for (const char* part : parts) EXPECT_TRUE(contains(e.what(), part)) << part << " is not in: " << e.what();
    EXPECT_EQ(ran, 0);
  };
  check({0, 1, 1}, 1, 0, {"grid", "0 x 1 x 1"});
  check(1, {4, 0, 1}, 0, {"block", "4 x 0 x 1"});
  check(1, 1025, 0, {"block", "1025", "1024"});
  check(1, {32, 32, 2}, 0, {"block", "2048", "1024"});
  check(1, {4294967295u, 4294967295u, 4294967295u}, 0, {"block", "1024"});
  check(1, 1, kMaxSharedBytes + 1, {"shared_bytes", "262145", "262144"});
  check(65, 1024, 0, {"65 x 1 x 1", "65536", "ISOTOPE_MAX_FIBERS"});
  check({4294967295u, 4294967295u, 4294967295u}, 1024, 0, {"ISOTOPE_MAX_FIBERS"});
}

TEST(Grid, ThreadsThatNeverWaitNeedNoFiber) {
  constexpr std::size_t kStack = 40 * 4096;
  std::uint64_t sum = 0;
  run(100, 128, [&] { sum += this_block().rank() * 128 + this_block().thread_rank(); }, 0, {.stack_bytes = kStack});
  run(3, 1,
      [&] {
        this_block().sync();
        this_warp().sync();
        this_block().broadcast(1);
      },
      0, {.stack_bytes = kStack});
  EXPECT_EQ(sum, 12799ull * 12800 / 2);
  EXPECT_EQ(fibers_mapped(kStack), 0u);
}

TEST(Grid, ABlockEndsBeforeTheNextNeedsFibers) {
  constexpr std::size_t kStack = 41 * 4096;
  for (int i = 0; i < (kTsan ? 2 : 20); ++i) {
    run(200, 64,
        [&] {
          for (int k = 0; k < 10; ++k) this_block().sync();
        },
        0, {.stack_bytes = kStack});
  }
  EXPECT_LE(fibers_mapped(kStack), 256u);
  EXPECT_EQ(exec::FiberPool::of(kStack).idle(), fibers_mapped(kStack));
}

TEST(Grid, BlocksAreResidentTogether) {
  // Block i waits for block i + 1, so the last one has to run first.
  std::vector<std::uint32_t> done(64);
  std::vector<std::uint32_t> order;
  run(64, 32, [&] {
    const Block b = this_block();
    if (b.is_leader() && b.rank() + 1 < b.grid_size()) {
      relax_until([&] { return done[b.rank() + 1] != 0; });
    }
    b.sync();
    if (b.thread_rank() == b.size() - 1) {
      done[b.rank()] = 1;
      order.push_back(b.rank());
    }
  });
  ASSERT_EQ(order.size(), 64u);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(order[i], 63 - i);
}

TEST(Grid, ThreadsThatSyncInALoopStarveNobody) {
  // Block 0 looks at the flag between syncs, without relax(). Another block sets it, after it polled for one that
  // starts still later.
  bool flag = false, half = false;
  run(20, 16, [&] {
    const Block b = this_block();
    if (b.rank() == 0) {
      for (bool seen = false; !seen;) {
        seen = b.broadcast(flag);
        b.sync();
      }
    } else if (b.rank() == 18 && b.is_leader()) {
      relax_until([&] { return half; });
      flag = true;
    } else if (b.rank() == 19) {
      half = true;
    }
  });
  EXPECT_TRUE(flag);
}

TEST(Grid, AnExceptionInABodyIsReportedAndTheOthersGoOn) {
  int after = 0;
  const Error e = error_of([&] {
    run(3, 64, [&] {
      this_block().sync();
      if (this_block().rank() == 1 && this_block().thread_rank() == 17) throw std::runtime_error("lost my way");
      this_block().sync();
      ++after;
    });
  });
  EXPECT_EQ(e.code(), Code::kernel_failed);
  for (const char* part : {"thread 17", "block 1", "lost my way"}) EXPECT_TRUE(contains(e.what(), part)) << e.what();
  EXPECT_EQ(after, 3 * 64 - 1);
  run(1, 64, [&] { this_block().sync(); });  // and the next launch is unharmed
}

TEST(Grid, AnObjectThrownThatIsNoExceptionIsReported) {
  EXPECT_EQ(error_of([] { run(1, 1, [] { throw 7; }); }).code(), Code::kernel_failed);
}

TEST(Grid, ABodyMayWaitInsideACatchBlock) {
  std::vector<std::string> caught(48), again(48);
  run(1, 48, [&] {
    const std::uint32_t me = this_block().thread_rank();
    try {
      throw std::runtime_error(std::to_string(me));
    } catch (const std::runtime_error& e) {
      this_block().sync();  // every thread has an exception in flight now
      caught[me] = e.what();
      try {
        this_block().sync();
        throw;
      } catch (const std::exception& same) {
        this_warp().sync();
        again[me] = same.what();
      }
    }
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    this_block().sync();
  });
  for (std::uint32_t i = 0; i < 48; ++i) {
    EXPECT_EQ(caught[i], std::to_string(i));
    EXPECT_EQ(again[i], std::to_string(i));
  }
}

TEST(Grid, ADivergentBarrierIsReportedAndDrained) {
  int after = 0;
  const Error e = error_of([&] {
    run(2, 64, [&] {
      const Block b = this_block();
      if (b.rank() == 1 && b.thread_rank() == 40) {
        this_warp().sync();  // waits for its warp, which waits for it
      } else {
        b.sync();
      }
      ++after;
      b.sync();
      this_warp().ballot(true);
    });
  });
  EXPECT_EQ(e.code(), Code::kernel_failed);
  for (const char* part : {"divergent", "block 1", "threads 0-39, 41-63 in a block sync",
                           "thread 40 in a warp sync with mask 0xffffffff"}) {
    EXPECT_TRUE(contains(e.what(), part)) << e.what();
  }
  EXPECT_FALSE(contains(e.what(), "block 0")) << e.what();
  EXPECT_EQ(after, 128);
  run(2, 64, [&] { this_block().sync(); });
}

TEST(Grid, AWarpBarrierNobodyElseComesToIsReported) {
  const Error e =
      error_of([] { run(1, 32, [] { this_warp().sync(this_warp().thread_rank() == 3 ? 0xfu : 0xffffffffu); }); });
  EXPECT_TRUE(contains(e.what(), "thread 3 in a warp sync with mask 0x0000000f")) << e.what();
}

TEST(Grid, AsManyFibersAsTheLimitRunAtOnce) {
  const std::uint32_t blocks = kTsan ? 2 : 64;
  std::uint32_t here = 0, wrong = 0;
  for (int i = 0; i < 2; ++i) {
    here = 0;
    run(blocks, 1024, [&] {
      ++here;
      this_block().sync();
      // All threads of the grid meet, so each needs a stack at this moment.
      relax_until([&] { return here == blocks * 1024; });
      this_block().sync();
      if (here != blocks * 1024) ++wrong;
    });
    EXPECT_EQ(here, blocks * 1024);
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(Grid, StacksNobodyNeedsGoBack) {
  constexpr std::size_t kStack = 42 * 4096;
  const std::uint32_t blocks = kTsan ? 2 : 12;
  const auto meet = [&](std::uint32_t n) {
    std::uint32_t here = 0;
    const auto body = [&, n] {
      ++here;
      relax_until([&] { return here == n * 1024; });
    };
    run(n, 1024, body, 0, {.stack_bytes = kStack});
  };
  meet(blocks);
  const std::uint32_t most = fibers_mapped(kStack);
  EXPECT_GE(most, blocks * 1024 - 1);
  meet(blocks);
  EXPECT_EQ(fibers_mapped(kStack), most);  // a second launch maps nothing
  for (int i = 0; i < (kTsan ? 20 : 100); ++i) meet(1);
  EXPECT_LE(fibers_mapped(kStack), exec::FiberPool::kAlwaysKept + 1024);
}

TEST(Grid, AStackSizeTheSystemCannotMapFailsTheLaunchOnly) {
  int ran = 0;
  const Error e = error_of([&] {
    run(1, 4,
        [&] {
          ++ran;
          this_block().sync();
        },
        0, {.stack_bytes = std::size_t{1} << 60});
  });
  EXPECT_EQ(e.code(), Code::kernel_failed);
  EXPECT_TRUE(contains(e.what(), "ISOTOPE_STACK_BYTES")) << e.what();
  EXPECT_EQ(ran, 4);
}

TEST(Grid, AKernelCannotRunAKernel) {
  const Error e = error_of([] { run(1, 1, [] { run(1, 1, [] {}); }); });
  EXPECT_EQ(e.code(), Code::kernel_failed);
  EXPECT_TRUE(contains(e.what(), "inside a kernel")) << e.what();
}

double thread_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Runs `wait` while another thread sets the flag after 400 ms; returns the share of a CPU the wait took.
double cpu_share(const std::function<void(const std::atomic<bool>&)>& wait) {
  std::atomic<bool> flag{false};
  std::thread setter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    flag = true;
  });
  const auto start = std::chrono::steady_clock::now();
  const double cpu = thread_cpu_seconds();
  wait(flag);
  const double used = thread_cpu_seconds() - cpu;
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  setter.join();
  return used / wall;
}

TEST(Relax, ALongWaitBurnsLittle) {
  const auto poll = [](const std::atomic<bool>& flag) { relax_until([&] { return flag.load(); }); };
  EXPECT_LT(cpu_share(poll), 0.25) << "on the host";
  EXPECT_LT(cpu_share([&](const auto& flag) { run(1, 1, [&] { poll(flag); }); }), 0.25) << "one thread";
  EXPECT_LT(cpu_share([&](const auto& flag) { run(4, 8, [&] { poll(flag); }); }), 0.25) << "32 threads that poll";
  EXPECT_LT(cpu_share([&](const auto& flag) {
              run(4, 128, [&] {
                if (this_block().is_leader()) poll(flag);
                this_block().sync();
              });
            }),
            0.25)
      << "leaders that poll for their blocks";
}

TEST(Relax, ThreadsOfTwoLaunchesHandOverQuickly) {
  // Two operating-system threads, each with a launch, pass a token. A wait that slept at once would take a second or
  // more.
  std::atomic<std::uint32_t> token{0};
  constexpr std::uint32_t kRounds = kTsan ? 200 : 2000;
  const auto side = [&](std::uint32_t mine) {
    run(1, 32, [&, mine] {
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        if (this_block().is_leader()) {
          relax_until([&] { return token == 2 * round + mine; });
          ++token;
        }
        this_block().sync();
      }
    });
  };
  std::thread other([&] { side(1); });
  side(0);
  other.join();
  EXPECT_EQ(token, 2 * kRounds);
}

}  // namespace
}  // namespace isotope::test
