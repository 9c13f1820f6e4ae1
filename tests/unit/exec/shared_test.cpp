// Static and dynamic shared memory.
#include <atomic>
#include <cstring>
#include <set>

#include "support.hpp"

namespace isotope::test {
namespace {

TEST(Shared, EveryThreadOfABlockSeesOneVariableAndBlocksSeeTheirOwn) {
  for (std::uint32_t threads : {1u, 32u, 48u, 1024u}) {
    int wrong = 0;
    run(5, threads, [&] {
      ISOTOPE_SHARED(std::uint32_t[1024], cells);
      const Block b = this_block();
      const std::uint32_t me = b.thread_rank();
      cells[me] = b.rank() * 10000 + me;
      b.sync();
      const std::uint32_t peer = (me + 1) % b.size();
      wrong += cells[peer] != b.rank() * 10000 + peer;
      b.sync();
      wrong += cells[me] != b.rank() * 10000 + me;
    });
    EXPECT_EQ(wrong, 0) << threads << " threads";
  }
}

// A second function with a variable of the same name has a variable of its own.
std::uint64_t& other_total() {
  ISOTOPE_SHARED(std::uint64_t, total);
  return total;
}

TEST(Shared, SeveralVariablesDoNotOverlap) {
  int wrong = 0;
  run(3, 64, [&] {
    struct alignas(64) Wide {
      char bytes[192];
    };
    ISOTOPE_SHARED(std::uint64_t, total);
    ISOTOPE_SHARED(Wide, wide);
    ISOTOPE_SHARED(char[3], three);
    ISOTOPE_SHARED(double[100], doubles);
    const Block b = this_block();
    wrong += reinterpret_cast<std::uintptr_t>(&wide) % 64 != 0;
    wrong += reinterpret_cast<std::uintptr_t>(&doubles) % alignof(double) != 0;
    if (b.is_leader()) {
      total = 1;
      other_total() = 2;
      std::memset(&wide, 3, sizeof(wide));
      std::memset(three, 4, sizeof(three));
      for (double& d : doubles) d = 5;
    }
    b.sync();
    wrong += total != 1 || other_total() != 2 || wide.bytes[0] != 3 || wide.bytes[191] != 3 || three[0] != 4 ||
             three[2] != 4;
    for (double d : doubles) wrong += d != 5;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Shared, DynamicMemoryHasTheAskedSize) {
  int wrong = 0;
  run(
      4, 48,
      [&] {
        ISOTOPE_SHARED(int[64], fixed);
        auto cells = dynamic_shared<std::uint32_t>();
        const Block b = this_block();
        wrong += cells.size() != 1000;
        wrong += reinterpret_cast<std::uintptr_t>(cells.data()) % 16 != 0;
        fixed[b.thread_rank()] = -1;
        for (std::size_t i = b.thread_rank(); i < cells.size(); i += b.size())
          cells[i] = static_cast<std::uint32_t>(i) + b.rank();
        b.sync();
        for (std::size_t i = 0; i < cells.size(); ++i) wrong += cells[i] != i + b.rank();
        wrong += fixed[(b.thread_rank() + 1) % 48] != -1;
      },
      4000);
  EXPECT_EQ(wrong, 0);
}

TEST(Shared, TheLargestDynamicMemoryWorksBesideStaticMemory) {
  int wrong = 0;
  run(
      2, 4,
      [&] {
        ISOTOPE_SHARED(int, one);
        auto bytes = dynamic_shared<unsigned char>();
        wrong += bytes.size() != kMaxSharedBytes;
        if (this_block().is_leader()) one = 7;
        bytes[this_block().thread_rank()] = 1;
        bytes[bytes.size() - 1 - this_block().thread_rank()] = 2;
        this_block().sync();
        wrong += one != 7;
      },
      kMaxSharedBytes);
  EXPECT_EQ(wrong, 0);
}

TEST(Shared, AtomicsOnSharedMemoryCount) {
  std::uint32_t totals[6] = {};
  run(6, 128, [&] {
    ISOTOPE_SHARED(std::uint32_t, count);
    const Block b = this_block();
    if (b.is_leader()) count = 0;
    b.sync();
    std::atomic_ref<std::uint32_t>(count).fetch_add(b.thread_rank());
    b.sync();
    if (b.is_leader()) totals[b.rank()] = count;
  });
  for (std::uint32_t total : totals) EXPECT_EQ(total, 127u * 128 / 2);
}

TEST(Shared, LivesUntilTheLastThreadEnds) {
  // Threads 1.. return at once; thread 0 waits for all blocks and then still finds its own block's values.
  std::uint32_t written = 0, wrong = 0;
  run(8, 32, [&] {
    ISOTOPE_SHARED(std::uint32_t[32], cells);
    const Block b = this_block();
    cells[b.thread_rank()] = b.rank() * 32 + b.thread_rank();
    ++written;
    if (b.thread_rank() != 0) return;
    relax_until([&] { return written == 8 * 32; });
    for (std::uint32_t i = 0; i < 32; ++i) wrong += cells[i] != b.rank() * 32 + i;
  });
  EXPECT_EQ(wrong, 0u);
}

TEST(Shared, TooMuchStaticMemoryIsAnError) {
  const Error e = error_of([] {
    run(1, 1, [] {
      ISOTOPE_SHARED(char[kMaxSharedBytes], most);
      ISOTOPE_SHARED(char[1], one_more);
      most[0] = one_more[0] = 0;
    });
  });
  EXPECT_EQ(e.code(), Code::kernel_failed);
  EXPECT_TRUE(contains(e.what(), std::to_string(kMaxSharedBytes))) << e.what();
}

#if ISOTOPE_CHECKED
TEST(Shared, IsPoisonedInTheCheckedBuild) {
  int wrong = 0;
  for (int i = 0; i < 2; ++i) {
    run(
        2, 1,
        [&] {
          ISOTOPE_SHARED(unsigned char[64], cells);
          auto dynamic = dynamic_shared<unsigned char>();
          for (unsigned char& c : cells) wrong += std::exchange(c, 0) != 0xA5;
          for (unsigned char& c : dynamic) wrong += std::exchange(c, 0) != 0xA5;
        },
        100);
  }
  EXPECT_EQ(wrong, 0);
}
#endif  // ISOTOPE_CHECKED

}  // namespace
}  // namespace isotope::test
