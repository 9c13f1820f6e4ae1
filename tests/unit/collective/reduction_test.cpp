// Reductions of every type and operation, typed, with the operation a value, and with both of them values.
#include <cstring>
#include <limits>
#include <vector>

#include "isotope/collective/any_reduction.hpp"
#include "isotope/collective/op_reduction.hpp"
#include "isotope/collective/reduction.hpp"
#include "support/collective_reference.hpp"

namespace isotope {
namespace {

using testing::input_of;
using testing::matches;

constexpr std::size_t kCount = 67;
constexpr int kMembers = 5;

/// Calls body.template operator()<T, Op>() for every type that has the operation.
template <class T, class F>
void each_op(F& body) {
  const auto one = [&]<ReduceOp Op>() {
    if constexpr (reduces(data_type_of<T>, Op)) body.template operator()<T, Op>();
  };
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (one.template operator()<static_cast<ReduceOp>(I)>(), ...);
  }(std::make_integer_sequence<int, 8>{});
}
template <class F>
void each_type_and_op(F body) {
#define X(name, type) each_op<type>(body);
#include "isotope/base/data_types.def"
#undef X
}

template <class T>
std::vector<std::vector<T>> inputs(ReduceOp op) {
  std::vector<std::vector<T>> all(kMembers, std::vector<T>(kCount));
  for (int k = 0; k < kMembers; ++k)
    for (std::size_t i = 0; i < kCount; ++i) all[static_cast<std::size_t>(k)][i] = input_of<T>(op, 7, k, i);
  return all;
}

/// ((0 op 1) op 2) op (3 op 4), finished.
template <class T, class R>
std::vector<T> reduced(const R& r, const std::vector<std::vector<T>>& in) {
  std::vector<char> first(kCount * r.partial() + 16), second(kCount * r.partial() + 16);
  r.start(first.data(), in[0].data(), in[1].data(), kCount);
  r.more(first.data(), in[2].data(), kCount);
  r.widen(second.data(), in[3].data(), kCount);
  r.more(second.data(), in[4].data(), kCount);
  r.join(first.data(), second.data(), kCount);
  std::vector<T> out(kCount);
  r.finish(out.data(), first.data(), kCount, kMembers);
  return out;
}

template <class T, ReduceOp Op, Accumulate A>
void check() {
  const auto in = inputs<T>(Op);
  const std::vector<T> out = reduced<T>(Reduction<T, Op, A>{}, in);
  const std::vector<T> any = reduced<T>(AnyReduction(data_type_of<T>, Op, A), in);
  EXPECT_EQ(std::memcmp(out.data(), any.data(), kCount * sizeof(T)), 0)
      << name_of(data_type_of<T>) << " " << name_of(Op);
  const std::vector<T> by_value = reduced<T>(OpReduction<T, A>(Op), in);
  EXPECT_EQ(std::memcmp(out.data(), by_value.data(), kCount * sizeof(T)), 0)
      << name_of(data_type_of<T>) << " " << name_of(Op);
  for (std::size_t i = 0; i < kCount; ++i) {
    T values[kMembers];
    for (std::size_t k = 0; k < kMembers; ++k) values[k] = in[k][i];
    const testing::Reference reference = testing::reference_of<T>(Op, A, Span<const T>(values, kMembers));
    EXPECT_TRUE(matches(reference, out[i])) << name_of(data_type_of<T>) << " " << name_of(Op) << ", element " << i
                                            << ": " << testing::difference(reference, out[i]);
  }
}

TEST(Reduction, EqualsTheReference) {
  each_type_and_op([]<class T, ReduceOp Op>() { check<T, Op, Accumulate::wide>(); });
}
TEST(Reduction, NativeRoundsAtEachStep) {
  each_type_and_op([]<class T, ReduceOp Op>() {
    if constexpr (is_narrow_float<T>) check<T, Op, Accumulate::native>();
  });
  EXPECT_EQ((Reduction<bf16, ReduceOp::add, Accumulate::native>::partial()), 2u);
  EXPECT_EQ((Reduction<bf16, ReduceOp::add>::partial()), 4u);
  EXPECT_EQ((Reduction<std::int8_t, ReduceOp::average>::partial()), 8u);
  // 448 + 448 - 448: kept wide it passes the largest number and comes back; native it is cut off there.
  const e4m3 most(448.0f), less(-448.0f);
  const auto sum = [&](const auto& r) {
    float partial[4] = {};
    e4m3 out;
    r.start(partial, &most, &most, 1);
    r.more(partial, &less, 1);
    r.finish(&out, partial, 1, 3);
    return static_cast<float>(out);
  };
  EXPECT_EQ(sum(AnyReduction(DataType::e4m3, ReduceOp::add, Accumulate::wide)), 448.0f);
  EXPECT_EQ(sum(AnyReduction(DataType::e4m3, ReduceOp::add, Accumulate::native)), 0.0f);
}

// Joined with any value on either side, the identity leaves it as it is.
TEST(Reduction, IdentitiesChangeNothing) {
  each_type_and_op([]<class T, ReduceOp Op>() {
    if constexpr (Op == ReduceOp::average) return;
    const AnyReduction r(data_type_of<T>, Op, Accumulate::wide);
    T identity, out, typed;
    r.identity(&identity, 1);
    Reduction<T, Op>{}.identity(&typed, std::size_t{1});
    EXPECT_EQ(std::memcmp(&identity, &typed, sizeof(T)), 0);
    OpReduction<T>(Op).identity(&typed, std::size_t{1});
    EXPECT_EQ(std::memcmp(&identity, &typed, sizeof(T)), 0);
    EXPECT_TRUE(matches(testing::identity_of<T>(Op), identity)) << name_of(data_type_of<T>) << " " << name_of(Op);
    for (std::size_t i = 0; i < kCount; ++i) {
      const T value = input_of<T>(Op, 9, 1, i);
      double partial[2];
      r.start(partial, &identity, &value, 1);
      r.finish(&out, partial, 1, 1);
      const double is = testing::number_of(out), was = testing::number_of(value);
      EXPECT_TRUE(is == was || (std::isnan(is) && std::isnan(was)) ||
                  (std::isnan(was) && (Op == ReduceOp::min || Op == ReduceOp::max)))
          << name_of(data_type_of<T>) << " " << name_of(Op) << ": " << was << " became " << is;
    }
  });
}

TEST(Reduction, IntegersOfAllSizesAreExact) {
  const std::int64_t a = std::numeric_limits<std::int64_t>::max(), b = 3;
  std::int64_t partial, out;
  const AnyReduction add(DataType::i64, ReduceOp::add, Accumulate::wide);
  add.start(&partial, &a, &b, 1);
  add.finish(&out, &partial, 1, 2);
  EXPECT_EQ(out, std::numeric_limits<std::int64_t>::min() + 2) << "it wraps";
  const std::int8_t x = -128, y = -127;
  std::int8_t narrow;
  const AnyReduction average(DataType::i8, ReduceOp::average, Accumulate::wide);
  average.start(&partial, &x, &y, 1);
  average.finish(&narrow, &partial, 1, 2);
  EXPECT_EQ(narrow, -127) << "the sum is kept in 64 bits, and the quotient goes towards zero";
}

TEST(AnyReduction, RefusesWhatThereIsNot) {
  EXPECT_THROW(AnyReduction(DataType::f32, ReduceOp::bit_and, Accumulate::wide), Error);
  EXPECT_THROW(AnyReduction(static_cast<DataType>(14), ReduceOp::add, Accumulate::wide), Error);
  EXPECT_THROW(AnyReduction(DataType::i32, static_cast<ReduceOp>(8), Accumulate::wide), Error);
  try {
    AnyReduction(DataType::e5m2, ReduceOp::bit_xor, Accumulate::wide);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_supported);
    EXPECT_NE(std::string(error.what()).find("bit_xor of e5m2"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace isotope
