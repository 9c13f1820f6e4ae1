// OpReduction: a Reduction of one type whose operation is a value. For kernels of host calls on a GPU: one per type and
// algorithm instead of one per operation too. The choice is the same for all threads, and small beside the loads.
#pragma once

#include <cstddef>
#include <type_traits>

#include "isotope/collective/reduction.hpp"

namespace isotope {

template <class T, Accumulate A = Accumulate::wide>
class OpReduction : public detail::ReductionLoops<OpReduction<T, A>, T, detail::PartialOf<T, ReduceOp::average, A>> {
 public:
  /// One that every operation can use. Integers are as wide as averages need: all else wraps to the same.
  using Partial = detail::PartialOf<T, ReduceOp::average, A>;

  OpReduction() = default;
  ISOTOPE_HD explicit OpReduction(ReduceOp op) : op_(op) {}

  static constexpr bool kOneOperation = false;
  static constexpr Accumulate kAccumulate = A;
  ISOTOPE_HD ReduceOp op() const { return op_; }
  static constexpr bool finish_is_copy() { return false; }

  ISOTOPE_FLAT Partial combine_one(Partial a, Partial b) const {
    return with_op([&]<ReduceOp Op>() { return detail::combine_partials<Op>(a, b); });
  }
  ISOTOPE_FLAT T finish_one(Partial sum, int members) const {
    return op_ == ReduceOp::average ? detail::average_of<T>(sum, members) : static_cast<T>(sum);
  }
  ISOTOPE_FLAT T identity_one() const {
    return with_op([]<ReduceOp Op>() { return detail::identity_of<T, Op>(); });
  }

 private:
  /// f<Op>(), for this operation; the bitwise ones only where the type has them. Others were refused before. An average
  /// is a sum until it is finished.
  template <class F>
  ISOTOPE_FLAT auto with_op(F f) const {
    if constexpr (std::is_integral_v<T>) {
      if (op_ == ReduceOp::bit_and) return f.template operator()<ReduceOp::bit_and>();
      if (op_ == ReduceOp::bit_or) return f.template operator()<ReduceOp::bit_or>();
      if (op_ == ReduceOp::bit_xor) return f.template operator()<ReduceOp::bit_xor>();
    }
    if (op_ == ReduceOp::min) return f.template operator()<ReduceOp::min>();
    if (op_ == ReduceOp::max) return f.template operator()<ReduceOp::max>();
    if (op_ == ReduceOp::multiply) return f.template operator()<ReduceOp::multiply>();
    return f.template operator()<ReduceOp::add>();
  }

  ReduceOp op_ = ReduceOp::add;
};

}  // namespace isotope
