// Multicast: load_reduce, reduce and store of every type, width and operation, against a reference in rank order.
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "support/job_shape.hpp"
#include "support/mixer.hpp"
#include "support/symmetric.hpp"

namespace isotope {
namespace {

class Multimem : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(Multimem);

constexpr int kCount = 16;  // vectors in each array
constexpr std::uint32_t kThreads = 4;

enum class Data { small, any };  // small integers, whose sums are exact in every type; or what the type can hold

/// Element `i` of PE `pe`: the same on whichever PE asks.
template <class T>
T element(int pe, std::size_t i, Data data) {
  testing::Mixer random(static_cast<std::uint64_t>(pe) * 1000003 + i * 17 + sizeof(T));
  if constexpr (testing::kFloat<T>) {
    if (data == Data::small) return static_cast<T>(static_cast<float>(static_cast<int>(random() % 3) - 1));
    // Exponents near each other: then f32 holds every sum of such narrow floats exactly.
    const double fraction = static_cast<double>(random() % 4096) / 4096;
    const double value = std::ldexp(1 + fraction, static_cast<int>(random() % 7) - 3) * (random() % 2 == 0 ? 1 : -1);
    if constexpr (is_narrow_float<T>)
      return T(static_cast<float>(value));
    else
      return static_cast<T>(value);
  } else {
    return data == Data::small ? static_cast<T>(random() % 100) : static_cast<T>(random());
  }
}

template <class T>
bool same(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// One step of a reduction, of numbers.
template <ReduceOp Op, class T>
T step(T a, T b) {
  if constexpr (Op == ReduceOp::add && std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else if constexpr (Op == ReduceOp::add)
    return a + b;
  else if constexpr (Op == ReduceOp::min)
    return a < b ? a : b;
  else if constexpr (Op == ReduceOp::max)
    return a > b ? a : b;
  else if constexpr (Op == ReduceOp::bit_and)
    return a & b;
  else if constexpr (Op == ReduceOp::bit_or)
    return a | b;
  else
    return a ^ b;
}

/// What load_reduce should give: narrow floats in double, rounded at the end or after each step.
template <ReduceOp Op, bool Native, class T>
T reference(const Team& team, std::size_t i, Data data) {
  using Sum = std::conditional_t<is_narrow_float<T>, double, T>;
  const auto wide = [](T x) {
    if constexpr (is_narrow_float<T>)
      return static_cast<double>(static_cast<float>(x));
    else
      return x;
  };
  const auto narrow = [](Sum x) {
    if constexpr (is_narrow_float<T>)
      return T(static_cast<float>(x));  // sums of this data are exact in float
    else
      return x;
  };
  Sum sum = wide(element<T>(team.world_rank(0), i, data));
  for (int rank = 1; rank < team.size(); ++rank) {
    sum = step<Op>(sum, wide(element<T>(team.world_rank(rank), i, data)));
    if (Native) sum = wide(narrow(sum));
  }
  return narrow(sum);
}

template <class T, int N, ReduceOp Op, Accumulate A>
ISOTOPE_KERNEL void load_reduces(Team team, Vec<T, N>* in, Vec<T, N>* out) {
  for (std::uint32_t i = this_block().thread_rank(); i < kCount; i += kThreads)
    out[i] = multimem_load_reduce<Op, A>(team, &in[i]);
}

/// What is reduced, and what becomes of it.
template <class T, int N>
struct Arrays {
  Symmetric<Vec<T, N>> in, out;

  explicit Arrays(World& world) : in(world.alloc<Vec<T, N>>(kCount)), out(world.alloc<Vec<T, N>>(kCount)) {}
};

template <ReduceOp Op, Accumulate A, class T, int N>
std::vector<Vec<T, N>> reduced(World& world, const Team& team, const Arrays<T, N>& arrays, std::uint32_t threads) {
  world.launch<load_reduces<T, N, Op, A>>({.block = threads}, team, arrays.in.data(), arrays.out.data());
  world.synchronize();
  return arrays.out.read();
}

template <class T, int N, ReduceOp Op, Accumulate A>
void check_load_reduce(World& world, const Team& team, const Arrays<T, N>& arrays, Data data) {
  Vec<T, N> poison;
  std::memset(static_cast<void*>(&poison), 0xa5, sizeof(poison));
  testing::fill(arrays.out, poison);
  const std::vector<Vec<T, N>> out = reduced<Op, A>(world, team, arrays, kThreads);
  for (std::size_t i = 0; i < kCount * N; ++i) {
    const T found = out[i / N][static_cast<int>(i % N)];
    ASSERT_TRUE(same(found, reference < Op, A == Accumulate::native, T > (team, i, data)))
        << "element " << i << " of vectors of " << N << " x " << sizeof(T) << " bytes, operation "
        << static_cast<int>(Op) << (A == Accumulate::native ? ", native" : ", wide");
  }
}

template <class T, int N, ReduceOp... Ops>
void check_load_reduces(World& world, const Team& team, Data data) {
  const Arrays<T, N> arrays(world);
  std::vector<Vec<T, N>> in(kCount);
  for (std::size_t i = 0; i < kCount * N; ++i) in[i / N][static_cast<int>(i % N)] = element<T>(world.rank(), i, data);
  arrays.in.write(in);
  world.barrier();
  (check_load_reduce<T, N, Ops, Accumulate::wide>(world, team, arrays, data), ...);
  (check_load_reduce<T, N, Ops, Accumulate::native>(world, team, arrays, data), ...);
  world.barrier();
}

/// Calls `body.template operator()<T, N, Ops...>()` for every type, and every width of 4 to 16 bytes.
template <class T, class F>
void each_width(F&& body) {
  const auto of_width = [&]<int Bytes>() {
    if constexpr (sizeof(T) <= Bytes) {
      constexpr int kElements = Bytes / static_cast<int>(sizeof(T));
      if constexpr (testing::kFloat<T>)
        body.template operator()<T, kElements, ReduceOp::add, ReduceOp::min, ReduceOp::max>();
      else
        body.template operator()<T, kElements, ReduceOp::add, ReduceOp::min, ReduceOp::max, ReduceOp::bit_and,
                                 ReduceOp::bit_or, ReduceOp::bit_xor>();
    }
  };
  of_width.template operator()<4>();
  of_width.template operator()<8>();
  of_width.template operator()<16>();
}
template <class F>
void each_type(F&& body) {
  each_width<float>(body);
  each_width<double>(body);
  each_width<f16>(body);
  each_width<bf16>(body);
  each_width<e4m3>(body);
  each_width<e5m2>(body);
  each_width<std::int32_t>(body);
  each_width<std::uint32_t>(body);
  each_width<std::int64_t>(body);
  each_width<std::uint64_t>(body);
}

TEST_P(Multimem, LoadReduceOfSmallIntegersIsExact) {
  run([](World& world) {
    each_type(
        [&]<class T, int N, ReduceOp... Ops>() { check_load_reduces<T, N, Ops...>(world, world.team(), Data::small); });
  });
}

// Integers wrap. Wide sums of narrow floats are rounded once, native ones at each step, and f32 and f64 in rank order.
TEST_P(Multimem, LoadReduceOfAnyValues) {
  run([](World& world) {
    each_type(
        [&]<class T, int N, ReduceOp... Ops>() { check_load_reduces<T, N, Ops...>(world, world.team(), Data::any); });
  });
}

// A team's order is its own.
TEST_P(Multimem, LoadReduceGoesInTheTeamsOrder) {
  run([](World& world) {
    const OwnedTeam reversed = world.split_strided(world.team(), world.size() - 1, -1, world.size());
    check_load_reduces<float, 4, ReduceOp::add>(world, reversed.team(), Data::any);
    check_load_reduces<bf16, 8, ReduceOp::add>(world, reversed.team(), Data::any);
  });
}

// Over all positive values of a type, whatever their exponents, the wide sum is next to the true one at worst.
template <class T>
void check_wide_sum(World& world) {
  constexpr int kElements = 16 / static_cast<int>(sizeof(T));
  const Arrays<T, kElements> arrays(world);
  std::vector<Vec<T, kElements>> in(kCount);
  constexpr std::uint32_t kInfinite = std::is_same_v<T, f16> ? 0x7c00 : std::is_same_v<T, bf16> ? 0x7f80 : 0x78;
  const auto bits = [&](int pe, std::size_t i) {
    testing::Mixer random(static_cast<std::uint64_t>(pe) * 7919 + i);
    return static_cast<decltype(T::bits)>(random() % kInfinite);
  };
  for (std::size_t i = 0; i < kCount * kElements; ++i)
    in[i / kElements][static_cast<int>(i % kElements)] = T::from_bits(bits(world.rank(), i));
  arrays.in.write(in);
  world.barrier();
  const auto out = reduced<ReduceOp::add, Accumulate::wide>(world, world.team(), arrays, kThreads);
  for (std::size_t i = 0; i < kCount * kElements; ++i) {
    double sum = 0;
    for (int pe = 0; pe < world.size(); ++pe) sum += static_cast<double>(static_cast<float>(T::from_bits(bits(pe, i))));
    const int expected = T(static_cast<float>(sum)).bits,
              found = out[i / kElements][static_cast<int>(i % kElements)].bits;
    ASSERT_LE(std::abs(expected - found), 1) << "element " << i;  // neighbouring numbers have neighbouring bits
  }
  world.barrier();
}

TEST_P(Multimem, WideSumsAreWithinOneStepOfTheTrueOne) {
  run([](World& world) {
    check_wide_sum<f16>(world);
    check_wide_sum<bf16>(world);
    check_wide_sum<e4m3>(world);
    check_wide_sum<e5m2>(world);
  });
}

// 448 + 448 - 448: a sum kept wide passes the largest number and comes back, one that is not is cut off there.
TEST_P(Multimem, WideAndNativeDifferWhereTheyShould) {
  run([](World& world) {
    const Arrays<e4m3, 16> arrays(world);
    Vec<e4m3, 16> vector;
    for (int i = 0; i < 16; ++i) vector[i] = e4m3(world.rank() == 2 ? -448.0f : world.rank() < 2 ? 448.0f : 0.0f);
    testing::fill(arrays.in, vector);
    world.barrier();
    if (world.size() >= 3) {
      const auto wide = reduced<ReduceOp::add, Accumulate::wide>(world, world.team(), arrays, 1);
      EXPECT_EQ(static_cast<float>(wide[0][3]), 448.0f);
      const auto native = reduced<ReduceOp::add, Accumulate::native>(world, world.team(), arrays, 1);
      EXPECT_EQ(static_cast<float>(native[0][3]), 0.0f);
    }
    world.barrier();
  });
}

// A number wins against NaN in min and max; NaN alone stays.
TEST_P(Multimem, NumbersWinAgainstNaN) {
  run([](World& world) {
    const Arrays<float, 4> arrays(world);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    Vec<float, 4> vector;
    for (int i = 0; i < 4; ++i) vector[i] = i == world.rank() || i == 3 ? nan : static_cast<float>(10 + world.rank());
    testing::fill(arrays.in, vector);
    world.barrier();
    const auto low = reduced<ReduceOp::min, Accumulate::wide>(world, world.team(), arrays, 1);
    const auto high = reduced<ReduceOp::max, Accumulate::wide>(world, world.team(), arrays, 1);
    const auto last = static_cast<float>(10 + world.size() - 1);
    if (world.size() > 3) {
      EXPECT_EQ(low[0][0], 11.0f);
      EXPECT_EQ(low[0][1], 10.0f);
      EXPECT_EQ(high[0][1], last);
    }
    EXPECT_TRUE(std::isnan(low[0][3]) && std::isnan(high[0][3]));
    world.barrier();
  });
}

}  // namespace
}  // namespace isotope
