// Loads, stores and atomics: every operation on every type, with every order and scope, gives the value it should.
#include "isotope/device/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace isotope {
namespace {

constexpr Order kOrders[] = {Order::relaxed, Order::acquire, Order::release, Order::acq_rel, Order::seq_cst};
constexpr Scope kScopes[] = {Scope::thread, Scope::block, Scope::cluster, Scope::device, Scope::system};

void with_every_order_and_scope(const std::function<void(Order, Scope)>& body) {
  for (const Order order : kOrders)
    for (const Scope scope : kScopes) body(order, scope);
}

template <class T>
class Memory : public ::testing::Test {};
using Values = ::testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, long long, unsigned long long,
                                float, double>;
TYPED_TEST_SUITE(Memory, Values);

template <class T>
class MemoryWord : public ::testing::Test {};
using Words = ::testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, long long, unsigned long long>;
TYPED_TEST_SUITE(MemoryWord, Words);

/// A word between two that nothing may touch.
template <class T>
struct Guarded {
  T before = T{77};
  T word = T{};
  T after = T{99};

  explicit Guarded(T value) : word(value) {}
  bool neighbours_are_well() const { return before == T{77} && after == T{99}; }
};

TYPED_TEST(Memory, LoadStoreExchange) {
  using T = TypeParam;
  with_every_order_and_scope([](Order order, Scope scope) {
    Guarded<T> x(T{5});
    EXPECT_EQ(load(&x.word, order, scope), T{5});
    store(&x.word, std::numeric_limits<T>::lowest(), order, scope);
    EXPECT_EQ(load(&x.word, order, scope), std::numeric_limits<T>::lowest());
    EXPECT_EQ(exchange(&x.word, std::numeric_limits<T>::max(), order, scope), std::numeric_limits<T>::lowest());
    EXPECT_EQ(x.word, std::numeric_limits<T>::max());
    EXPECT_TRUE(x.neighbours_are_well());
  });
}

TYPED_TEST(Memory, CompareExchange) {
  using T = TypeParam;
  with_every_order_and_scope([](Order order, Scope scope) {
    Guarded<T> x(T{5});
    T expected = T{6};
    EXPECT_FALSE(compare_exchange(&x.word, expected, T{7}, order, scope));
    EXPECT_EQ(expected, T{5});
    EXPECT_EQ(x.word, T{5});
    EXPECT_TRUE(compare_exchange(&x.word, expected, T{7}, order, scope));
    EXPECT_EQ(expected, T{5});
    EXPECT_EQ(x.word, T{7});
    EXPECT_TRUE(x.neighbours_are_well());
  });
}

// Bits are compared, not numbers: 0 is not -0, and NaN is itself.
TEST(MemoryFloat, CompareExchangeComparesBits) {
  float zero = 0.0f, expected = -0.0f;
  EXPECT_FALSE(compare_exchange(&zero, expected, 1.0f));
  EXPECT_FALSE(std::signbit(expected));
  double nan = std::numeric_limits<double>::quiet_NaN(), same = nan;
  EXPECT_TRUE(compare_exchange(&nan, same, 2.0));
  EXPECT_EQ(nan, 2.0);
}

TYPED_TEST(Memory, FetchAdd) {
  using T = TypeParam;
  with_every_order_and_scope([](Order order, Scope scope) {
    Guarded<T> x(T{5});
    EXPECT_EQ(fetch_add(&x.word, T{37}, order, scope), T{5});
    EXPECT_EQ(fetch_add(&x.word, static_cast<T>(-2), order, scope), T{42});
    EXPECT_EQ(x.word, T{40});
    EXPECT_TRUE(x.neighbours_are_well());
  });
}

TYPED_TEST(MemoryWord, FetchOperations) {
  using T = TypeParam;
  with_every_order_and_scope([](Order order, Scope scope) {
    Guarded<T> x(T{0b1100});
    EXPECT_EQ(fetch_sub(&x.word, T{2}, order, scope), T{0b1100});
    EXPECT_EQ(fetch_or(&x.word, T{0b0101}, order, scope), T{0b1010});
    EXPECT_EQ(fetch_and(&x.word, T{0b0110}, order, scope), T{0b1111});
    EXPECT_EQ(fetch_xor(&x.word, T{0b1011}, order, scope), T{0b0110});
    EXPECT_EQ(x.word, T{0b1101});
    EXPECT_EQ(fetch_min(&x.word, T{20}, order, scope), T{13});
    EXPECT_EQ(fetch_min(&x.word, T{3}, order, scope), T{13});
    EXPECT_EQ(fetch_max(&x.word, T{2}, order, scope), T{3});
    EXPECT_EQ(fetch_max(&x.word, T{9}, order, scope), T{3});
    EXPECT_EQ(x.word, T{9});
    EXPECT_TRUE(x.neighbours_are_well());
  });
}

TYPED_TEST(MemoryWord, WrapsAround) {
  using T = TypeParam;
  constexpr T kLow = std::numeric_limits<T>::lowest(), kHigh = std::numeric_limits<T>::max();
  Guarded<T> x(kHigh);
  EXPECT_EQ(fetch_add(&x.word, T{1}), kHigh);
  EXPECT_EQ(x.word, kLow);
  EXPECT_EQ(fetch_sub(&x.word, T{1}), kLow);
  EXPECT_EQ(x.word, kHigh);
  EXPECT_TRUE(x.neighbours_are_well());
}

// The same bits are below zero for one type and very large for the other.
TYPED_TEST(MemoryWord, MinAndMaxKnowTheSign) {
  using T = TypeParam;
  const T all_ones = static_cast<T>(-1);
  Guarded<T> x(T{1});
  fetch_min(&x.word, all_ones);
  EXPECT_EQ(x.word, std::min(T{1}, all_ones));
  x.word = 1;
  fetch_max(&x.word, all_ones);
  EXPECT_EQ(x.word, std::max(T{1}, all_ones));
  x.word = std::numeric_limits<T>::lowest();
  fetch_max(&x.word, std::numeric_limits<T>::max());
  EXPECT_EQ(x.word, std::numeric_limits<T>::max());
}

template <class T>
class MemoryNarrow : public ::testing::Test {};
using Narrow = ::testing::Types<f16, bf16>;
TYPED_TEST_SUITE(MemoryNarrow, Narrow);

TYPED_TEST(MemoryNarrow, FetchAdd) {
  using T = TypeParam;
  with_every_order_and_scope([](Order order, Scope scope) {
    T x[4] = {T(7.0f), T(1.5f), T(-2.0f), T(9.0f)};
    EXPECT_EQ(fetch_add(&x[1], T(0.25f), order, scope).bits, T(1.5f).bits);
    EXPECT_EQ(fetch_add(&x[2], T(-0.5f), order, scope).bits, T(-2.0f).bits);
    EXPECT_EQ(x[1].bits, T(1.75f).bits);
    EXPECT_EQ(x[2].bits, T(-2.5f).bits);
    EXPECT_EQ(x[0].bits, T(7.0f).bits);
    EXPECT_EQ(x[3].bits, T(9.0f).bits);
  });
}

TYPED_TEST(MemoryNarrow, FetchAddRoundsToEven) {
  using T = TypeParam;
  const float first_odd = std::is_same_v<T, f16> ? 2049.0f : 257.0f;  // the smallest integer that the type lacks
  T x(first_odd - 1);
  fetch_add(&x, T(1.0f));
  EXPECT_EQ(static_cast<float>(x), first_odd - 1);
  fetch_add(&x, T(3.0f));  // half way again; up, this time
  EXPECT_EQ(static_cast<float>(x), first_odd + 3);
}

// The default scope and order are those that the page promises: they compile, and act as the others do.
TEST(MemoryFence, EveryOrderAndScope) {
  with_every_order_and_scope([](Order order, Scope scope) { fence(order, scope); });
  fence();
}

}  // namespace
}  // namespace isotope
