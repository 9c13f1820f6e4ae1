// Vectors: every type and width is moved whole and in order, packing puts the first word low, and 16 bytes that load16
// and store16 move are never seen in halves.
#include "isotope/device/vector.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "isotope/base/float16.hpp"
#include "isotope/device/memory.hpp"

namespace isotope {
namespace {

template <class T>
class Vector : public ::testing::Test {
 protected:
  /// Element i of some data in which all bytes differ from their neighbours'.
  static T element(int i) {
    unsigned char bytes[sizeof(T)];
    for (std::size_t b = 0; b < sizeof(T); ++b)
      bytes[b] = static_cast<unsigned char>(1 + static_cast<std::size_t>(i) * sizeof(T) + b);
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
  }
  static bool same(const T& a, const T& b) { return std::memcmp(&a, &b, sizeof(T)) == 0; }

  template <int N>
  static void moves() {
    using V = Vec<T, N>;
    static_assert(sizeof(V) == N * sizeof(T) && alignof(V) == sizeof(V) && V::kSize == N);
    static_assert(std::is_same_v<typename V::value_type, T> && std::is_trivially_copyable_v<V>);
    constexpr int kCount = 64 / static_cast<int>(sizeof(T));
    alignas(64) T from[kCount];
    alignas(64) unsigned char to[64];
    for (int i = 0; i < kCount; ++i) from[i] = element(i);
    for (int at = 0; at + N <= kCount; at += N) {
      V v = load_vec<N>(&from[at]);
      const V from_const = load_vec<N>(static_cast<const T*>(&from[at]));
      for (int i = 0; i < N; ++i) {
        ASSERT_TRUE(same(v[i], element(at + i))) << "element " << i << " of " << N;
        ASSERT_TRUE(same(from_const[i], v.data[i]));
      }
      v[N - 1] = element(100);
      std::memset(to, 0xee, sizeof(to));
      store_vec(reinterpret_cast<T*>(to) + at, v);
      for (int i = 0; i < N; ++i) ASSERT_EQ(std::memcmp(to + (at + i) * sizeof(T), &v[i], sizeof(T)), 0);
      for (std::size_t b = 0; b < sizeof(to); ++b) {
        const bool inside = b >= at * sizeof(T) && b < (at + N) * sizeof(T);
        ASSERT_TRUE(inside || to[b] == 0xee) << "byte " << b << " of a store at " << at * sizeof(T);
      }
    }
  }
};
using Types = ::testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                               std::int64_t, std::uint64_t, float, double, f16, bf16, e4m3, e5m2>;
TYPED_TEST_SUITE(Vector, Types);

TYPED_TEST(Vector, MovesEveryWidth) {
  using V = Vector<TypeParam>;
  V::template moves<1>();
  if constexpr (sizeof(TypeParam) <= 8) V::template moves<2>();
  if constexpr (sizeof(TypeParam) <= 4) V::template moves<4>();
  if constexpr (sizeof(TypeParam) <= 2) V::template moves<8>();
  if constexpr (sizeof(TypeParam) <= 1) V::template moves<16>();
}

TYPED_TEST(Vector, PacksTheFirstWordLow) {
  using T = TypeParam;
  using F = Vector<T>;
  for (int i = 0; i < 20; ++i) {
    const T low = F::element(i), high = F::element(i + 7);
    const auto word = pack(low, high);
    static_assert(sizeof(word) == 2 * sizeof(T));
    unsigned char expected[2 * sizeof(T)];  // little-endian: the low half comes first
    std::memcpy(expected, &low, sizeof(T));
    std::memcpy(expected + sizeof(T), &high, sizeof(T));
    ASSERT_EQ(std::memcmp(&word, expected, sizeof(word)), 0);
    const Vec<T, 2> halves = unpack<T>(word);
    ASSERT_TRUE(F::same(halves[0], low));
    ASSERT_TRUE(F::same(halves[1], high));
  }
}

// Sign bits of the low half do not reach the high one.
static_assert(pack(std::int8_t{-1}, std::int8_t{2}) == 0x02ff);
static_assert(pack(std::int16_t{-2}, std::int16_t{-1}) == 0xfffffffeu);
static_assert(pack(-1, 0) == 0x00000000ffffffffu);
static_assert(pack(1.0f, -2.0f) == 0xc00000003f800000u);
static_assert(pack(std::int64_t{-1}, std::int64_t{5}) == Bits128{~std::uint64_t{0}, 5});
static_assert(unpack<std::uint32_t>(0x1122334455667788u)[0] == 0x55667788u);
static_assert(unpack<std::uint32_t>(0x1122334455667788u)[1] == 0x11223344u);
static_assert(!(Bits128{1, 2} == Bits128{1, 3}) && !(Bits128{1, 2} == Bits128{2, 2}));
static_assert(sizeof(Bits128) == 16 && alignof(Bits128) == 16 && Bits128{} == Bits128{0, 0});
static_assert(std::is_same_v<Word<1>, std::uint8_t> && std::is_same_v<Word<16>, Bits128>);

TEST(Bits128Test, MovesAsAWhole) {
  Bits128 words[3] = {{1, 2}, {3, 4}, {5, 6}};
  EXPECT_TRUE(load16(&words[1]) == (Bits128{3, 4}));
  store16(&words[1], {7, 8});
  EXPECT_TRUE(words[1] == (Bits128{7, 8}));
  EXPECT_TRUE(words[0] == (Bits128{1, 2}) && words[2] == (Bits128{5, 6}));
  EXPECT_TRUE(load16(&words[1]) == words[1]);
}

// One thread stores, one loads, until they have met often enough: a million loads, and as many new values as two free
// cores show in a moment. The halves of every value belong together.
TEST(Bits128Test, IsNeverTorn) {
  constexpr std::uint64_t kLoads = 1'000'000, kChanges = 100'000;
  constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15u;
  alignas(64) Bits128 shared{0, ~std::uint64_t{0}};
  std::uint32_t done = 0;
  std::uint64_t stores = 0;
  std::thread writer([&] {
    while (load(&done, Order::acquire) == 0) {
      ++stores;
      store16(&shared, {stores * kMix, ~(stores * kMix)});
    }
  });
  std::uint64_t torn = 0, loads = 0, changes = 0, last = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (loads < kLoads || (changes < kChanges && std::chrono::steady_clock::now() < until)) {
    const Bits128 seen = load16(&shared);
    torn += seen.low != ~seen.high;
    changes += seen.low != last;
    last = seen.low;
    ++loads;
  }
  store(&done, 1u, Order::release);
  writer.join();
  EXPECT_EQ(torn, 0u) << "of " << loads << " loads, " << changes << " of which saw a new value";
  EXPECT_TRUE(load16(&shared) == (Bits128{stores * kMix, ~(stores * kMix)}));
  EXPECT_GT(changes, 0u);
}

}  // namespace
}  // namespace isotope
