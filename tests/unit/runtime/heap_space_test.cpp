// The allocator of offsets against a byte map: nothing overlaps, nothing is lost, everything comes back.
#include "runtime/heap_space.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace isotope::runtime {
namespace {

TEST(HeapSpace, RandomCallsNeitherOverlapNorLeak) {
  constexpr std::uint64_t kLimit = 1 << 20;
  HeapSpace space(kLimit);
  std::vector<bool> taken(kLimit / HeapSpace::kGranule, false);
  std::map<std::uint64_t, std::uint64_t> held;  // offset -> granules
  std::mt19937 random(7);
  for (int call = 0; call < 200'000; ++call) {
    if (random() % 2 == 0 || held.empty()) {
      const std::uint64_t bytes = random() % (random() % 16 == 0 ? 100'000 : 4'000);
      const std::uint64_t alignment = 1ull << (random() % 14);
      const auto offset = space.allocate(bytes, alignment);
      if (!offset) continue;
      ASSERT_EQ(*offset % std::max(alignment, HeapSpace::kGranule), 0u);
      const std::uint64_t granules = *space.block_bytes(*offset) / HeapSpace::kGranule;
      ASSERT_GE(granules * HeapSpace::kGranule, bytes);
      ASSERT_LE(*offset + granules * HeapSpace::kGranule, kLimit);
      for (std::uint64_t g = 0; g < granules; ++g) {
        ASSERT_FALSE(taken[*offset / HeapSpace::kGranule + g]) << "two blocks share a byte";
        taken[*offset / HeapSpace::kGranule + g] = true;
      }
      held.emplace(*offset, granules);
    } else {
      auto block = held.begin();
      std::advance(block, static_cast<std::ptrdiff_t>(random() % held.size()));
      for (std::uint64_t g = 0; g < block->second; ++g) taken[block->first / HeapSpace::kGranule + g] = false;
      ASSERT_TRUE(space.release(block->first));
      held.erase(block);
    }
    if (call % 1000 == 0) {
      std::uint64_t used = 0;
      for (const auto& [offset, granules] : held) used += granules * HeapSpace::kGranule;
      ASSERT_EQ(space.used_bytes(), used);
      ASSERT_EQ(space.blocks(), held.size());
    }
  }
  for (const auto& [offset, granules] : held) EXPECT_TRUE(space.release(offset));
  EXPECT_EQ(space.used_bytes(), 0u);
  EXPECT_EQ(space.free_ranges(), 1u) << "free ranges were not joined";
  EXPECT_EQ(space.largest_free(), kLimit);
}

TEST(HeapSpace, TheSameCallsGiveTheSameOffsets) {
  HeapSpace one(1 << 20), two(1 << 20);
  std::mt19937 random(11);
  std::vector<std::uint64_t> held;
  for (int call = 0; call < 5'000; ++call) {
    if (random() % 3 != 0 || held.empty()) {
      const std::uint64_t bytes = 1 + random() % 2'000;
      const auto a = one.allocate(bytes), b = two.allocate(bytes);
      ASSERT_EQ(a, b);
      if (a) held.push_back(*a);
    } else {
      const std::size_t which = random() % held.size();
      ASSERT_EQ(one.release(held[which]), two.release(held[which]));
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
}

TEST(HeapSpace, RefusesWhatIsNotThere) {
  HeapSpace space(64 * 1024);
  EXPECT_FALSE(space.allocate(64 * 1024 + 1));
  EXPECT_FALSE(space.allocate(~0ull)) << "sizes near the end of the numbers must not wrap";
  const auto block = space.allocate(1000);
  ASSERT_TRUE(block);
  EXPECT_FALSE(space.release(*block + 8)) << "an interior address";
  EXPECT_TRUE(space.release(*block));
  EXPECT_FALSE(space.release(*block)) << "a second time";
  EXPECT_TRUE(space.allocate(64 * 1024)) << "all of it, once it is empty again";
}

TEST(HeapSpace, FindsTheBlockAroundAnOffset) {
  HeapSpace space(64 * 1024);
  const auto a = space.allocate(1000), b = space.allocate(1000);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(space.block_around(*a + 999)->first, *a);
  EXPECT_EQ(space.block_around(*b)->first, *b);
  EXPECT_FALSE(space.block_around(*b + 1024));
}

}  // namespace
}  // namespace isotope::runtime
