// The table behind AnyReduction: one row of functions per type, operation and way to accumulate. Compiled for vectors.
#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "isotope/base/error.hpp"
#include "isotope/collective/any_reduction.hpp"
#include "isotope/collective/reduction.hpp"

namespace isotope {

namespace detail {

namespace {

constexpr int kOps = 8;

template <class T, ReduceOp Op, Accumulate A>
constexpr ReductionCalls calls_of() {
  if constexpr (!reduces(data_type_of<T>, Op)) {
    return {};
  } else {
    using R = Reduction<T, Op, A>;
    return {R::element(),
            R::partial(),
            R::finish_is_copy(),
            [](void* partials, const void* a, std::size_t n) { R{}.widen(partials, a, n); },
            [](void* partials, const void* a, const void* b, std::size_t n) { R{}.start(partials, a, b, n); },
            [](void* partials, const void* a, std::size_t n) { R{}.more(partials, a, n); },
            [](void* partials, const void* others, std::size_t n) { R{}.join(partials, others, n); },
            [](void* out, const void* partials, std::size_t n, int members) { R{}.finish(out, partials, n, members); },
            [](void* out, std::size_t n) { R{}.identity(out, n); }};
  }
}

using Row = std::array<ReductionCalls, kOps>;

template <class T, Accumulate A>
constexpr Row row_of() {
  return {calls_of<T, ReduceOp::add, A>(),      calls_of<T, ReduceOp::min, A>(),    calls_of<T, ReduceOp::max, A>(),
          calls_of<T, ReduceOp::bit_and, A>(),  calls_of<T, ReduceOp::bit_or, A>(), calls_of<T, ReduceOp::bit_xor, A>(),
          calls_of<T, ReduceOp::multiply, A>(), calls_of<T, ReduceOp::average, A>()};
}

constexpr Row kWide[] = {
#define X(name, type) row_of<type, Accumulate::wide>(),
#include "isotope/base/data_types.def"
#undef X
};

// Only narrow floats differ.
constexpr Row kNative[] = {row_of<f16, Accumulate::native>(), row_of<bf16, Accumulate::native>(),
                           row_of<e4m3, Accumulate::native>(), row_of<e5m2, Accumulate::native>()};
constexpr int kFirstNarrow = static_cast<int>(DataType::f16), kLastNarrow = static_cast<int>(DataType::e5m2);
static_assert(kLastNarrow - kFirstNarrow == 3);

}  // namespace

const ReductionCalls* find_reduction(DataType type, ReduceOp op, Accumulate accumulate) noexcept {
  const int index = static_cast<int>(type), operation = static_cast<int>(op);
  if (size_of(type) == 0 || operation < 0 || operation >= kOps || !reduces(type, op)) return nullptr;
  const bool native = accumulate == Accumulate::native && index >= kFirstNarrow && index <= kLastNarrow;
  const Row& row = native ? kNative[index - kFirstNarrow] : kWide[index];
  return &row[static_cast<std::size_t>(operation)];
}

}  // namespace detail

AnyReduction::AnyReduction(DataType type, ReduceOp op, Accumulate accumulate, CallSite site)
    : type_(type), op_(op), calls_(detail::find_reduction(type, op, accumulate)) {
  if (calls_ == nullptr) {
    throw Error(
        Code::not_supported,
        fmt::format("there is no {} of {}: floats have add, min, max, multiply and average, integers the bitwise "
                    "ones besides",
                    name_of(op), name_of(type)),
        Error::kNobody, Error::kNobody, site);
  }
}

}  // namespace isotope
