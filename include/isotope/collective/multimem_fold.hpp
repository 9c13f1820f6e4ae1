// Reductions through the multicast address of a team, where it has one; elsewhere the same by the members' copies.
#pragma once

#include <cstddef>

#include "isotope/collective/direct.hpp"
#include "isotope/collective/fold.hpp"
#include "isotope/collective/reduction.hpp"
#include "isotope/collective/stage.hpp"
#include "isotope/device/multimem.hpp"

namespace isotope::detail {

/// Whether multimem instructions make the sums of R by Op on this platform. Not those of averages, which are divided
/// before they are rounded.
template <class R, ReduceOp Op>
inline constexpr bool kByMultimem = false;
template <class R, ReduceOp Op>
  requires kReducible<typename R::Element, Op>
inline constexpr bool kByMultimem<R, Op> =
    platform::kMultimemLoadReduce<Vec<typename R::Element, 16 / static_cast<int>(sizeof(typename R::Element))>, Op,
                                  R::kAccumulate == Accumulate::wide>;

/// Calls f<Op>() for the reduction's operation, which may be a value, if multimem instructions make its sums.
template <ReduceOp... Ops, class R, class F>
ISOTOPE_HD void with_multimem(const R& r, const F& f) {
  const auto offer = [&]<ReduceOp Op>() {
    if constexpr (kByMultimem<R, Op>) {
      if (r.op() == Op) f.template operator()<Op>();
    }
  };
  (offer.template operator()<Ops>(), ...);
}

/// dst = the sum of all members' src, whole words of it by the hardware; with `ToAll`, in every member's dst. Returns
/// how many elements that were.
template <bool ToAll, Group G, class R>
ISOTOPE_HD std::size_t fold_by_hardware(const Stage<G>& on, const R& r, char* dst, const char* src, std::size_t count) {
  using enum ReduceOp;
  std::size_t done = 0;
  with_multimem<add, min, max, bit_and, bit_or, bit_xor>(r, [&]<ReduceOp Op>() {
    using V = Vec<typename R::Element, 16 / static_cast<int>(sizeof(typename R::Element))>;
    if (on.team.multicast(src) == nullptr || !aligned16(src) || !aligned16(dst)) return;
    const std::size_t words = count * r.element() / 16;
    const Workers workers = on.workers();
    alias_fence();  // the members wrote src, and may have read dst, by their own addresses
    for (std::size_t word = workers.rank; word < words; word += workers.count) {
      const V sum = multimem_load_reduce<Op, R::kAccumulate>(on.team, reinterpret_cast<const V*>(src) + word);
      if constexpr (ToAll) {
        multimem_store(on.team, reinterpret_cast<V*>(dst) + word, sum);
      } else {
        platform::store_wide(dst + word * 16, sum);
      }
    }
    alias_fence();  // and will write src and read dst by them once they have met again
    done = words * 16 / r.element();
  });
  return done;
}

/// dst = the sum of all members' src; with `ToAll`, in every member's dst. Where the hardware sums, the order is its
/// own: the last bit may differ from run to run.
template <bool ToAll, Group G, class R>
ISOTOPE_HD void fold_multicast(const Stage<G>& on, const R& r, char* dst, const char* src, std::size_t count) {
  std::size_t done = 0;
  if constexpr (requires { typename R::Element; }) done = fold_by_hardware<ToAll>(on, r, dst, src, count);
  const std::size_t at = done * r.element();
  const auto from = [&](int k) { return on.team.at(src + at, k); };
  if constexpr (ToAll) {
    fold(
        on.workers(), r, on.members(), from, on.members(), [&](int k) { return on.team.at(dst + at, on.next(k)); },
        count - done, on.members());
  } else {
    fold(on.workers(), r, on.members(), from, kOneOutput, [&](int) { return dst + at; }, count - done, on.members());
  }
}

template <Group G, class R>
ISOTOPE_HD bool all_reduce_multimem_one_shot(const Stage<G>& on, const R& r, char* dst, const char* src,
                                             std::size_t count) {
  if (!meet_first(on)) return false;
  fold_multicast<false>(on, r, dst, src, count);
  return meet_last(on);
}

template <Group G, class R>
ISOTOPE_HD bool all_reduce_multimem_two_shot(const Stage<G>& on, const R& r, char* dst, const char* src,
                                             std::size_t count) {
  if (!meet_first(on)) return false;
  const Slice mine = slice_of(count, on.me(), on.members(), part_unit(r));
  const std::size_t at = mine.begin * r.element();
  fold_multicast<true>(on, r, dst + at, src + at, mine.count);
  return meet_last(on);
}

template <Group G, class R>
ISOTOPE_HD bool reduce_scatter_multimem(const Stage<G>& on, const R& r, char* dst, const char* src,
                                        const Blocks& blocks) {
  if (!meet_first(on)) return false;
  fold_multicast<false>(on, r, dst, src + blocks.begin(on.me()) * r.element(), blocks.each);
  return meet_last(on);
}

}  // namespace isotope::detail
