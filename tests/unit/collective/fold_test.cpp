// The inner loops of reductions: sums of several arrays, also those so large that results are written past the caches.
#include <cstdint>
#include <cstring>
#include <vector>

#include "isotope/collective/fold.hpp"
#include "isotope/collective/reduction.hpp"

namespace isotope {
namespace {

/// Sums three arrays of `count` elements into two, and looks at every element and at those around.
void expect_sums(std::size_t count) {
  std::vector<std::vector<std::uint32_t>> in(3), out(2);
  for (std::size_t k = 0; k < in.size(); ++k) {
    in[k].resize(count);
    for (std::size_t i = 0; i < count; ++i) in[k][i] = static_cast<std::uint32_t>(i * (k + 3) + k);
  }
  for (auto& one : out) one.assign(count + 2, 77);
  const auto input = [&](int k) { return reinterpret_cast<const char*>(in[static_cast<std::size_t>(k)].data()); };
  const auto output = [&](int k) { return reinterpret_cast<char*>(out[static_cast<std::size_t>(k)].data() + 1); };
  detail::fold(this_thread(), Reduction<std::uint32_t, ReduceOp::add>{}, 3, input, 2, output, count, 3);
  for (const auto& one : out) {
    ASSERT_EQ(one.front(), 77u);
    ASSERT_EQ(one.back(), 77u);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(one[i + 1], static_cast<std::uint32_t>(i * 12 + 3)) << i << " of " << count;
  }
}

TEST(Fold, SumsThroughTheCachesAndPastThem) {
  const std::size_t kLargest = cpu::past_caches_from(3).sums / sizeof(std::uint32_t) / 2;  // each of two outputs
  for (const std::size_t count : {std::size_t{1}, std::size_t{1023}, std::size_t{1025}, kLargest - 1, kLargest, kLargest + 17})
    expect_sums(count);
}

// ---- what a GPU does with the same arrays: words in registers --------------------------------------------------------------------

template <class T>
void lanes_hold_what_was_set() {
  Bits128 word{};
  for (std::size_t i = 0; i < 16 / sizeof(T); ++i) detail::set_lane(word, i, static_cast<T>(static_cast<float>(3 * i + 1)));
  for (std::size_t i = 0; i < 16 / sizeof(T); ++i) {
    T in_memory;
    std::memcpy(&in_memory, reinterpret_cast<const char*>(&word) + i * sizeof(T), sizeof(T));
    EXPECT_EQ(static_cast<float>(detail::lane<T>(word, i)), static_cast<float>(3 * i + 1)) << i;
    EXPECT_EQ(static_cast<float>(in_memory), static_cast<float>(3 * i + 1)) << "as memory has it, " << i;
  }
}

TEST(Lanes, AreTheElementsOfAWord) {
  lanes_hold_what_was_set<double>();
  lanes_hold_what_was_set<float>();
  lanes_hold_what_was_set<bf16>();
  lanes_hold_what_was_set<f16>();
  lanes_hold_what_was_set<std::int8_t>();
  lanes_hold_what_was_set<std::uint16_t>();
  lanes_hold_what_was_set<std::int64_t>();
}

TEST(FoldWide, SumsTheSameAsElementByElement) {
  constexpr std::size_t kWords = 77, kCount = kWords * 8;  // no multiple of anything
  constexpr std::uint32_t kThreads = 5;
  for (const int inputs : {1, 2, 3, 4, 5, 8}) {
    for (const int outputs : {1, inputs}) {
      std::vector<std::vector<bf16>> from, to;
      for (int k = 0; k < inputs; ++k) {
        from.emplace_back(kCount);
        for (std::size_t i = 0; i < kCount; ++i) from.back()[i] = bf16(static_cast<float>((i * 7 + static_cast<std::size_t>(k) * 13) % 29));
      }
      for (int k = 0; k < outputs; ++k) to.emplace_back(kCount + 8, bf16(-1.0f));
      const Reduction<bf16, ReduceOp::add> r;
      for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
        detail::fold_wide(
            r, inputs, [&](int k) { return reinterpret_cast<const char*>(from[static_cast<std::size_t>(k)].data()); }, outputs,
            [&](int k) { return reinterpret_cast<char*>(to[static_cast<std::size_t>(k)].data()); }, kWords, inputs, thread, kThreads);
      }
      for (const auto& result : to) {
        for (std::size_t i = 0; i < kCount; ++i) {
          float sum = 0;
          for (const auto& one : from) sum += static_cast<float>(one[i]);
          ASSERT_EQ(static_cast<float>(result[i]), static_cast<float>(bf16(sum))) << inputs << " inputs, element " << i;
        }
        EXPECT_EQ(static_cast<float>(result[kCount]), -1.0f) << "wrote past the end";
      }
    }
  }
}

}  // namespace
}  // namespace isotope
