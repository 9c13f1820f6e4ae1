// Multicast that writes: reductions by all PEs at once lose nothing, stores reach every copy and nothing beside it.
#include <cstring>
#include <type_traits>
#include <vector>

#include "support/job_shape.hpp"
#include "support/mixer.hpp"
#include "support/symmetric.hpp"

namespace isotope {
namespace {

class MultimemWrite : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(MultimemWrite);

constexpr int kCount = 8;  // vectors that are written, with one of poison on either side
constexpr std::uint32_t kThreads = 4;
constexpr int kRounds = 60;

/// What PE `pe` (-1: what is there first) brings for element `i`. Floats are small integers: every sum is exact.
template <class T>
ISOTOPE_HD T element(int pe, int i) {
  testing::Mixer random(static_cast<std::uint64_t>(pe + 1) * 100003 + static_cast<std::uint64_t>(i) * 31);
  if constexpr (testing::kFloat<T>)
    return pe < 0 ? T(0.0f) : static_cast<T>(static_cast<float>(static_cast<int>(random() % 3) - 1));
  else
    return static_cast<T>(random());
}

template <class T>
ISOTOPE_HD T negative(T x) {
  if constexpr (is_narrow_float<T>)
    return T(-static_cast<float>(x));
  else if constexpr (testing::kFloat<T>)
    return -x;
  else
    return static_cast<T>(0 - static_cast<std::uint64_t>(x));
}

template <class T, int N>
ISOTOPE_HD Vec<T, N> vector_of(int pe, int v) {
  Vec<T, N> vector;
  for (int i = 0; i < N; ++i) vector[i] = element<T>(pe, v * N + i);
  return vector;
}

// Every PE reduces its vectors into all copies. A sum goes to and fro first, so that many updates of a word meet; the
// other operations may simply be repeated, but for xor, which an odd number of times is as good as once.
template <class T, int N, ReduceOp Op>
ISOTOPE_KERNEL void reduces(Team team, Vec<T, N>* into) {
  for (int v = static_cast<int>(this_block().thread_rank()); v < kCount; v += kThreads) {
    const Vec<T, N> mine = vector_of<T, N>(team.world_rank(team.rank()), v);
    Vec<T, N> back = mine;
    if (Op == ReduceOp::add)
      for (int i = 0; i < N; ++i) back[i] = negative(mine[i]);
    for (int round = 0; round < kRounds; ++round) {
      multimem_reduce<Op>(team, &into[v], mine);
      multimem_reduce<Op>(team, &into[v], back);
    }
    multimem_reduce<Op>(team, &into[v], mine);
  }
}

template <ReduceOp Op, class T>
T step(T a, T b) {
  if constexpr (is_narrow_float<T>)
    return T(step<Op>(static_cast<float>(a), static_cast<float>(b)));
  else if constexpr (Op == ReduceOp::add && std::is_integral_v<T>)
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

template <class V>
V poison() {
  V vector;
  std::memset(static_cast<void*>(&vector), 0xd3, sizeof(V));
  return vector;
}
template <class V>
bool same_bytes(const V& a, const V& b) {
  return std::memcmp(&a, &b, sizeof(V)) == 0;
}
template <class V>
bool is_poison(const V& vector) {
  return same_bytes(vector, poison<V>());
}

template <class T, int N, ReduceOp Op>
void check_reduce(World& world) {
  using V = Vec<T, N>;
  auto into = world.alloc<V>(kCount + 2);
  std::vector<V> vectors(into.size(), poison<V>());
  for (int v = 0; v < kCount; ++v) vectors[static_cast<std::size_t>(v) + 1] = vector_of<T, N>(-1, v);
  into.write(vectors);
  world.barrier();
  world.launch<reduces<T, N, Op>>({.block = kThreads}, world.team(), into.data() + 1);
  world.synchronize();
  world.barrier();
  vectors = into.read();
  for (int i = 0; i < kCount * N; ++i) {
    T expected = element<T>(-1, i);
    for (int pe = 0; pe < world.size(); ++pe) expected = step<Op>(expected, element<T>(pe, i));
    const T found = vectors[static_cast<std::size_t>(i / N) + 1][i % N];
    // Zero has two signs, and which one a sum of ones ends with depends on the order.
    if constexpr (is_narrow_float<T>)
      ASSERT_EQ(static_cast<float>(found), static_cast<float>(expected))
          << "element " << i << " of vectors of " << N << ", operation " << static_cast<int>(Op);
    else
      ASSERT_EQ(found, expected) << "element " << i << " of vectors of " << N << " x " << sizeof(T)
                                 << " bytes, operation " << static_cast<int>(Op);
  }
  EXPECT_TRUE(is_poison(vectors.front()) && is_poison(vectors.back())) << "written beside the target";
  world.barrier();
}

template <class T, ReduceOp... Ops>
void check_widths(World& world) {
  const auto of_width = [&]<int Bytes>() {
    if constexpr (sizeof(T) <= Bytes) (check_reduce<T, Bytes / static_cast<int>(sizeof(T)), Ops>(world), ...);
  };
  of_width.template operator()<4>();
  of_width.template operator()<8>();
  of_width.template operator()<16>();
}
template <class T>
void check_integer(World& world) {
  check_widths<T, ReduceOp::add, ReduceOp::min, ReduceOp::max, ReduceOp::bit_and, ReduceOp::bit_or, ReduceOp::bit_xor>(
      world);
}
template <class T>
void check_float(World& world) {
  check_widths<T, ReduceOp::add, ReduceOp::min, ReduceOp::max>(world);
}

TEST_P(MultimemWrite, ReduceOfIntegersByAllAtOnce) {
  run([](World& world) {
    check_integer<std::int32_t>(world);
    check_integer<std::uint32_t>(world);
    check_integer<std::int64_t>(world);
    check_integer<std::uint64_t>(world);
  });
}

TEST_P(MultimemWrite, ReduceOfFloatsByAllAtOnce) {
  run([](World& world) {
    check_float<float>(world);
    check_float<double>(world);
    check_float<f16>(world);
    check_float<bf16>(world);
    check_float<e4m3>(world);
    check_float<e5m2>(world);
  });
}

// Each PE stores its own vectors, at places of its own, into all copies.
template <class T, int N>
ISOTOPE_KERNEL void stores(Team team, Vec<T, N>* to) {
  for (int v = static_cast<int>(this_block().thread_rank()); v < kCount; v += kThreads)
    multimem_store(team, &to[team.rank() * kCount + v], vector_of<T, N>(team.rank(), v));
}

template <class T, int N>
void check_store(World& world) {
  using V = Vec<T, N>;
  const int written = world.size() * kCount;
  auto to = world.alloc<V>(static_cast<std::size_t>(written) + 2);
  for (int round = 0; round < 3; ++round) {
    testing::fill(to, poison<V>());
    world.barrier();
    world.launch<stores<T, N>>({.block = kThreads}, world.team(), to.data() + 1);
    world.synchronize();
    world.barrier();
    const std::vector<V> vectors = to.read();
    for (int v = 0; v < written; ++v) {
      const V expected = vector_of<T, N>(v / kCount, v % kCount);
      ASSERT_TRUE(same_bytes(vectors[static_cast<std::size_t>(v) + 1], expected))
          << "vector " << v % kCount << " of PE " << v / kCount << ", " << N << " x " << sizeof(T) << " bytes";
    }
    EXPECT_TRUE(is_poison(vectors.front()) && is_poison(vectors.back())) << "written beside the target";
    world.barrier();
  }
}

TEST_P(MultimemWrite, StoreReachesEveryCopy) {
  run([](World& world) {
    check_store<float, 1>(world);
    check_store<float, 2>(world);
    check_store<float, 4>(world);
    check_store<double, 1>(world);
    check_store<double, 2>(world);
    check_store<f16, 2>(world);
    check_store<f16, 8>(world);
    check_store<bf16, 4>(world);
    check_store<e4m3, 4>(world);
    check_store<e5m2, 16>(world);
    check_store<std::int32_t, 4>(world);
    check_store<std::uint32_t, 1>(world);
    check_store<std::int64_t, 1>(world);
    check_store<std::uint64_t, 2>(world);
  });
}

}  // namespace
}  // namespace isotope
