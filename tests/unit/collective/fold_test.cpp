// The inner loops of reductions: sums of several arrays, also those so large that results are written past the caches.
#include <cmath>
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
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(one[i + 1], static_cast<std::uint32_t>(i * 12 + 3)) << i << " of " << count;
  }
}

TEST(Fold, SumsThroughTheCachesAndPastThem) {
  const std::size_t kLargest = cpu::past_caches_from(3).sums / sizeof(std::uint32_t) / 2;  // each of two outputs
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{1023}, std::size_t{1025}, kLargest - 1, kLargest, kLargest + 17})
    expect_sums(count);
}

// ---- what a GPU does with the same arrays: words in registers
// --------------------------------------------------------------------

template <class T>
void lanes_hold_what_was_set() {
  Bits128 word{};
  for (std::size_t i = 0; i < 16 / sizeof(T); ++i)
    detail::set_lane(word, i, static_cast<T>(static_cast<float>(3 * i + 1)));
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

TEST(Lanes, OfBf16AreWidenedAsTheyAre) {
  const auto same = [](float a, float b) {  // of NaNs, that they are some
    return std::isnan(a) ? std::isnan(b) : bit_cast<std::uint32_t>(a) == bit_cast<std::uint32_t>(b);
  };
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto element = bf16::from_bits(static_cast<std::uint16_t>(bits));
    const auto expected = static_cast<float>(element);
    for (std::size_t i = 0; i < 8; ++i) {
      Bits128 word{0xa5a5a5a5a5a5a5a5u, 0x5a5a5a5a5a5a5a5au};
      std::memcpy(reinterpret_cast<char*>(&word) + 2 * i, &element, 2);
      ASSERT_PRED2(same, (detail::widened_lane<float, bf16>(word, i)), expected) << bits << " as element " << i;
    }
    ASSERT_PRED2(same, (detail::widened_lane<float, bf16>(std::uint64_t{bits} << 48, 3)), expected) << bits;
  }
}

/// The exact sum in an f32 whose last digit says whether there was more: rounding that once more rounds the sum once.
float sum_to_odd(float a, float b) {
  const double x = a, y = b, sum = x + y, of_x = sum - y, rest = (x - of_x) + (y - (sum - of_x));
  auto near_zero = static_cast<float>(sum);
  if (std::abs(static_cast<double>(near_zero)) > std::abs(sum) ||
      (near_zero == sum && rest != 0 && (rest < 0) == (sum > 0)))
    near_zero = std::nextafter(near_zero, 0.0f);
  const bool more = near_zero != sum || rest != 0;
  return bit_cast<float>(bit_cast<std::uint32_t>(near_zero) | (more ? 1u : 0u));
}

template <class T>
void one_sum_is_rounded_once() {
  int looked = 0;
  for (std::uint32_t a = 0; a < 0x10000; a += 61) {
    for (std::uint32_t b = a % 53; b < 0x10000; b += 53) {
      const auto x = static_cast<float>(T::from_bits(static_cast<std::uint16_t>(a))),
                 y = static_cast<float>(T::from_bits(static_cast<std::uint16_t>(b)));
      if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(x + y)) continue;
      ASSERT_EQ(T(x + y).bits, T(sum_to_odd(x, y)).bits) << x << " + " << y;
      ++looked;
    }
  }
  EXPECT_GT(looked, 1000000);
}

// Why a GPU may add 16-bit floats of two members without the way through f32 (fold.hpp, add_by_pairs).
TEST(SumsOfTwo, ThroughF32AreRoundedOnce) {
  one_sum_is_rounded_once<f16>();
  one_sum_is_rounded_once<bf16>();
}

/// Sums `inputs` arrays of `count` elements that begin `skew` elements after a word, by `threads` threads one after the
/// other, and looks at every element and at those around. With `in_place` into the inputs, where a sum that is made
/// twice would be another one.
template <class Outputs>
void expect_gpu_sums(std::size_t count, std::size_t skew, int inputs, Outputs outputs, std::uint32_t threads,
                     bool in_place) {
  constexpr std::size_t kRoom = 16;
  const auto array = [&](bf16 filling) { return std::vector<bf16>(skew + count + kRoom, filling); };
  std::vector<std::vector<bf16>> from, to(static_cast<std::size_t>(outputs), array(bf16(-1.0f)));
  for (int k = 0; k < inputs; ++k) {
    from.push_back(array(bf16(64.0f)));
    for (std::size_t i = 0; i < count; ++i)
      from.back()[skew + i] = bf16(static_cast<float>((i * 7 + static_cast<std::size_t>(k) * 13) % 29));
  }
  auto inputs_now = from;
  auto& results = in_place ? inputs_now : to;
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    detail::fold_on_gpu(
        Reduction<bf16, ReduceOp::add>{}, inputs,
        [&](int k) { return reinterpret_cast<const char*>(inputs_now[static_cast<std::size_t>(k)].data() + skew); },
        outputs, [&](int k) { return reinterpret_cast<char*>(results[static_cast<std::size_t>(k)].data() + skew); },
        count, inputs, thread, threads);
  }
  for (int k = 0; k < outputs; ++k) {
    const auto& result = results[static_cast<std::size_t>(k)];
    for (std::size_t i = 0; i < result.size(); ++i) {
      float expected = in_place ? 64.0f : -1.0f;  // what is around
      if (i >= skew && i < skew + count) {
        expected = 0;
        for (const auto& one : from) expected += static_cast<float>(one[i]);
        expected = static_cast<float>(bf16(expected));
      }
      ASSERT_EQ(static_cast<float>(result[i]), expected)
          << inputs << " inputs, " << to.size() << " outputs, in place " << in_place << ", element " << i << " of "
          << count << " at " << skew << ", " << threads << " threads";
    }
  }
}

TEST(FoldOnGpu, SumsEveryElementOnce) {
  // Fewer words than threads, rows of one, two and four words and what is left of them, ends within a word.
  for (const std::size_t count : {0u, 1u, 7u, 8u, 40u, 41u, 80u, 8u * 5u * 8u, 8u * 5u * 15u + 3u, 616u}) {
    for (const int inputs : {1, 2, 3, 4, 5, 8}) {
      for (const std::size_t skew : {std::size_t{0}, std::size_t{8}, std::size_t{1}}) {
        for (const std::uint32_t threads : {1u, 5u}) {
          for (const bool in_place : {false, true}) {
            expect_gpu_sums(count, skew, inputs, inputs, threads, in_place);
            expect_gpu_sums(count, skew, inputs, 1, threads, in_place);
            expect_gpu_sums(count, skew, inputs, detail::kOneOutput, threads, in_place);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace isotope
