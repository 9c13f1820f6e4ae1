// Atomics by four operating-system threads at once: nothing is lost, and each value is fetched once.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <vector>

#include "isotope/device/memory.hpp"

namespace isotope {
namespace {

template <class T>
class MemoryThreads : public ::testing::Test {};
using Words = ::testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, long long, unsigned long long>;
TYPED_TEST_SUITE(MemoryThreads, Words);

constexpr int kThreads = 4;

void on_threads(const std::function<void(int)>& body) {
  int waiting = kThreads;
  std::vector<std::thread> threads;
  for (int me = 0; me < kThreads; ++me)
    threads.emplace_back([&, me] {
      fetch_sub(&waiting, 1, Order::acq_rel);
      while (load(&waiting, Order::acquire) != 0) std::this_thread::yield();
      body(me);
    });
  for (std::thread& thread : threads) thread.join();
}

/// Every number from `first` on, each once.
template <class T>
void expect_each_once(std::vector<std::vector<T>>& fetched, T first) {
  std::vector<T> all;
  for (const std::vector<T>& part : fetched) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], first + static_cast<T>(i));
}

TYPED_TEST(MemoryThreads, LoseNoAdd) {
  using T = TypeParam;
  constexpr int kTimes = 20'000;
  for (const bool down : {false, true}) {
    T word = down ? T{kThreads * kTimes} : T{0};
    std::vector<std::vector<T>> fetched(kThreads);
    on_threads([&](int me) {
      for (int i = 0; i < kTimes; ++i)
        fetched[static_cast<std::size_t>(me)].push_back(down ? fetch_sub(&word, T{1}) : fetch_add(&word, T{1}));
    });
    EXPECT_EQ(word, down ? T{0} : T{kThreads * kTimes});
    expect_each_once(fetched, down ? T{1} : T{0});
  }
}

TYPED_TEST(MemoryThreads, LoseNoCompareExchange) {
  using T = TypeParam;
  constexpr int kTimes = 10'000;
  T word = 0;
  std::vector<std::vector<T>> fetched(kThreads);
  on_threads([&](int me) {
    for (int i = 0; i < kTimes; ++i) {
      T seen = load(&word);
      while (!compare_exchange(&word, seen, static_cast<T>(seen + 1))) {
      }
      fetched[static_cast<std::size_t>(me)].push_back(seen);
    }
  });
  EXPECT_EQ(word, T{kThreads * kTimes});
  expect_each_once(fetched, T{0});
}

// Each thread has every fourth bit of the word, and changes them one by one.
TYPED_TEST(MemoryThreads, LoseNoBit) {
  using T = TypeParam;
  using U = std::make_unsigned_t<T>;
  constexpr int kBits = 8 * sizeof(T);
  T word = 0;
  for (int round = 0; round < 300; ++round) {
    on_threads([&](int me) {
      const auto mine = [&](int bit) { return static_cast<T>(U{1} << bit); };
      for (int bit = me; bit < kBits; bit += kThreads) EXPECT_EQ(fetch_or(&word, mine(bit)) & mine(bit), T{0});
      for (int bit = me; bit < kBits; bit += kThreads)
        EXPECT_EQ(fetch_and(&word, static_cast<T>(~mine(bit))) & mine(bit), mine(bit));
      for (int bit = me; bit < kBits; bit += kThreads) EXPECT_EQ(fetch_xor(&word, mine(bit)) & mine(bit), T{0});
    });
    ASSERT_EQ(word, static_cast<T>(~T{0}));
    store(&word, T{0});
  }
}

TYPED_TEST(MemoryThreads, LoseNoMinOrMax) {
  using T = TypeParam;
  for (int round = 0; round < 100; ++round) {
    T low = 1000, high = 1000;
    on_threads([&](int me) {
      T last_low = 1000, last_high = 1000;
      for (int i = 0; i < 200; ++i) {
        const T found_low = fetch_min(&low, static_cast<T>(999 - (i * 4 + me)));
        const T found_high = fetch_max(&high, static_cast<T>(1001 + (i * 4 + me)));
        EXPECT_LE(found_low, last_low);
        EXPECT_GE(found_high, last_high);
        last_low = found_low;
        last_high = found_high;
      }
    });
    ASSERT_EQ(low, T{999 - 799});
    ASSERT_EQ(high, T{1001 + 799});
  }
}

TYPED_TEST(MemoryThreads, LoseNoExchange) {
  using T = TypeParam;
  constexpr int kTimes = 5000;
  T word = T{0};
  std::vector<std::vector<T>> fetched(kThreads);
  on_threads([&](int me) {
    for (int i = 0; i < kTimes; ++i)
      fetched[static_cast<std::size_t>(me)].push_back(exchange(&word, static_cast<T>(1 + i * kThreads + me)));
  });
  fetched[0].push_back(word);  // what was put in has come out, but for the last one, which is still there
  expect_each_once(fetched, T{0});
}

template <class T>
class MemorySum : public ::testing::Test {};
using Sums = ::testing::Types<float, double, f16, bf16>;
TYPED_TEST_SUITE(MemorySum, Sums);

// Up and down often enough for the threads to meet, and then as many ones as the type can count. Two neighbours change
// at the same time: narrow types share a word.
TYPED_TEST(MemorySum, LosesNothing) {
  using T = TypeParam;
  constexpr int kSwings = 100'000, kOnes = std::is_same_v<T, f16> ? 512 : std::is_same_v<T, bf16> ? 60 : 100'000;
  alignas(8) T words[3] = {T(0.0f), T(0.0f), T(5.0f)};
  on_threads([&](int) {
    for (int i = 0; i < kSwings; ++i) {
      for (T& word : {std::ref(words[0]), std::ref(words[1])}) {
        fetch_add(&word, T(1.0f));
        fetch_add(&word, T(-1.0f));
      }
    }
    for (int i = 0; i < kOnes; ++i) {
      fetch_add(&words[0], T(1.0f));
      fetch_add(&words[1], T(-1.0f));
    }
  });
  EXPECT_EQ(static_cast<float>(words[0]), static_cast<float>(kThreads * kOnes));
  EXPECT_EQ(static_cast<float>(words[1]), static_cast<float>(-kThreads * kOnes));
  EXPECT_EQ(static_cast<float>(words[2]), 5.0f);
}

}  // namespace
}  // namespace isotope
