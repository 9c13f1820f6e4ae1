// Warp operations against a serial oracle: shuffles, votes, masks, lanes that returned.
#include <array>
#include <random>
#include <vector>

#include "support.hpp"

namespace isotope::test {
namespace {

constexpr std::uint32_t kThreads[] = {1, 2, 16, 31, 32, 33, 48, 128, 1024};

std::uint64_t value_of(std::uint32_t block, std::uint32_t rank, std::uint32_t round) {
  return (std::uint64_t{block} << 40) ^ (std::uint64_t{rank} << 20) ^ (round * 0x9e3779b9u);
}

TEST(Warp, ShufflesMatchTheOracle) {
  for (std::uint32_t threads : kThreads) {
    int wrong = 0;
    run(3, threads, [&] {
      const Warp w = this_warp();
      const std::uint32_t lane = w.thread_rank(), first = w.rank() * 32, block = this_block().rank();
      for (std::uint32_t round = 0; round < (kTsan ? 2 : 8); ++round) {
        const auto oracle = [&](std::uint32_t source) {
          return value_of(block, first + (source < w.size() ? source : lane), round);
        };
        const std::uint64_t mine = value_of(block, first + lane, round);
        const std::uint32_t step = 1u << (round % 5);
        wrong += w.shuffle(mine, round * 5 % 32) != oracle(round * 5 % 32);
        wrong += w.shuffle_xor(mine, step) != oracle(lane ^ step);
        wrong += w.shuffle_down(mine, step) != oracle(lane + step);
        wrong += w.shuffle_up(mine, step) != oracle(lane < step ? lane : lane - step);
        wrong += w.shuffle(mine, (lane * 7 + round) % 32) != oracle((lane * 7 + round) % 32);
        wrong += w.broadcast(mine) != oracle(0);
      }
    });
    EXPECT_EQ(wrong, 0) << threads << " threads";
  }
}

TEST(Warp, VotesMatchTheOracle) {
  for (std::uint32_t threads : kThreads) {
    int wrong = 0;
    run(2, threads, [&] {
      const Warp w = this_warp();
      const std::uint32_t exists = w.size() == 32 ? ~0u : (1u << w.size()) - 1;
      for (std::uint32_t round = 0; round < (kTsan ? 5 : 33); ++round) {
        const std::uint32_t pattern = round == 0 ? 0 : round == 1 ? ~0u : 0x9e3779b9u * round;
        const bool mine = (pattern >> w.thread_rank() & 1) != 0;
        wrong += w.ballot(mine) != (pattern & exists);
        wrong += w.any(mine) != ((pattern & exists) != 0);
        wrong += w.all(mine) != ((pattern & exists) == exists);
      }
      wrong += w.active_mask() == 0;
    });
    EXPECT_EQ(wrong, 0) << threads << " threads";
  }
}

// Lanes split into groups by a random colour; each group meets with its own mask, all at the same time, and a lane goes
// ahead to its next meeting before the others have woken from the last.
TEST(Warp, PartialMasksMeetAtTheSameTime) {
  for (std::uint32_t threads : {32u, 48u, 128u}) {
    constexpr std::uint32_t kRounds = 40;
    std::mt19937 random(7);
    std::vector<std::array<std::uint32_t, 32>> colours(kRounds);
    for (auto& round : colours) {
      for (auto& colour : round) colour = static_cast<std::uint32_t>(random()) % 4;
    }
    int wrong = 0;
    run(2, threads, [&] {
      const Warp w = this_warp();
      const std::uint32_t lane = w.thread_rank(), first = w.rank() * 32;
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        std::uint32_t mask = 0;
        for (std::uint32_t l = 0; l < 32; ++l) mask |= colours[round][l] == colours[round][lane] ? 1u << l : 0;
        const std::uint32_t exists = w.size() == 32 ? mask : mask & ((1u << w.size()) - 1);
        const std::uint32_t source = (lane * 5 + round) % 32;
        const std::uint64_t expected = value_of(0, first + ((exists >> source & 1) != 0 ? source : lane), round);
        wrong += w.shuffle(value_of(0, first + lane, round), source, mask) != expected;
        wrong += w.ballot(lane % 2 == 0, mask) != (exists & 0x55555555u);
        w.sync(mask);
      }
    });
    EXPECT_EQ(wrong, 0) << threads << " threads";
  }
}

TEST(Warp, LanesThatReturnedNeverBlock) {
  for (std::uint32_t threads : {32u, 48u, 128u}) {
    int wrong = 0, survivors = 0;
    run(2, threads, [&] {
      const Warp w = this_warp();
      const std::uint32_t lane = w.thread_rank();
      if (lane % 4 == 3) return;
      w.sync();
      const std::uint32_t exists = w.size() == 32 ? ~0u : (1u << w.size()) - 1;
      const std::uint32_t expected = exists & 0x77777777u;
      wrong += w.active_mask() != expected;
      wrong += w.ballot(true) != expected;
      wrong += w.shuffle(lane, 3) != lane;  // lane 3 is gone: one's own value
      wrong += w.shuffle(lane + 100, 4) != 104;
      wrong += w.all(true) != true;
      if (lane % 4 == 2) return;
      wrong += w.ballot(true) != (exists & 0x33333333u);
      ++survivors;
    });
    EXPECT_EQ(wrong, 0) << threads << " threads";
    EXPECT_EQ(survivors, static_cast<int>(threads));
  }
}

TEST(Warp, ALaneThatReturnsWhileOthersWaitReleasesThem) {
  int after = 0;
  run(1, 32, [&] {
    const Warp w = this_warp();
    if (w.thread_rank() == 31) {
      this_warp().sync(0x80000000u);
      return;  // the others sit in the full mask's sync by now
    }
    after += w.ballot(w.thread_rank() < 8) == 0xffu;
  });
  EXPECT_EQ(after, 31);
}

TEST(Warp, SyncOrdersMemoryWithinTheMask) {
  std::array<std::uint32_t, 64> cells{};
  int wrong = 0;
  run(1, 64, [&] {
    const Warp w = this_warp();
    const std::uint32_t rank = this_block().thread_rank(), half = w.thread_rank() / 16;
    const std::uint32_t mask = 0xffffu << half * 16;
    for (std::uint32_t round = 1; round < 20; ++round) {
      cells[rank] = rank * 100 + round;
      w.sync(mask);
      const std::uint32_t peer = rank / 16 * 16 + (rank + 1) % 16;
      wrong += cells[peer] != peer * 100 + round;
      w.sync(mask);
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Warp, ReductionByShuffles) {
  std::vector<float> in(1024);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 17);
  float sum = 0;
  run(1, 1024, [&] {
    ISOTOPE_SHARED(float[32], partial);
    const Warp w = this_warp();
    float x = in[this_block().thread_rank()];
    for (std::uint32_t step = 16; step != 0; step /= 2) x += w.shuffle_down(x, step);
    if (w.is_leader()) partial[w.rank()] = x;
    this_block().sync();
    if (w.rank() != 0) return;
    x = partial[w.thread_rank()];
    for (std::uint32_t step = 16; step != 0; step /= 2) x += w.shuffle_xor(x, step);
    if (w.is_leader()) sum = x;
  });
  float oracle = 0;
  for (float x : in) oracle += x;
  EXPECT_EQ(sum, oracle);
}

TEST(Warp, AMaskWithoutTheCallerIsAnError) {
  const Error e = error_of([] {
    run(1, 32, [] {
      if (this_warp().thread_rank() == 5) this_warp().sync(0x1u);
    });
  });
  EXPECT_EQ(e.code(), Code::kernel_failed);
  EXPECT_TRUE(contains(e.what(), "lane 5")) << e.what();
  EXPECT_TRUE(contains(e.what(), "0x00000001")) << e.what();
}

}  // namespace
}  // namespace isotope::test
