// Multicast: reads, writes or reduces the copies of all members of a team at once.
//
//   Vec<bf16, 8> sum = multimem_load_reduce<ReduceOp::add>(team, ptr);  // ptr: Vec<bf16, 8>*, this PE's own address
//   multimem_store(team, ptr, sum);                                     // the same value to every member
//   multimem_reduce<ReduceOp::add>(team, ptr, part);                    // adds to every member's copy
//
// Vectors of f32, f64, f16, bf16, e4m3, e5m2 and 32- and 64-bit integers, 4 to 16 bytes wide; ReduceOp::bit_... for
// integers only. Called by one thread, for itself; relaxed at system scope: order comes from signals and barriers. A
// wide access is not atomic as a whole, each element is.
//
// Where the hardware has NVLS and the team a multicast address these are its instructions; elsewhere, and for what the
// instructions lack, the same through the members' copies in rank order. Results are the same within rounding. Sums of
// 16-bit floats are kept in f32 and those of 8-bit floats in at least f16 (Accumulate::wide, the default), or rounded
// to the type at each step (Accumulate::native). A stopped team stores nothing and loads zeros.
//
// The multicast address is another one than a PE's own. Where a byte is reached by both, a signal or barrier alone does
// not order the two: alias_fence() does, by the thread that made the access before it raises (or syncs with who
// raises), or by the one that makes the next access after its wait. The end of a kernel is one too.
//
//   multimem_store(team, ptr, sum);  alias_fence();  signal(...);       // the receiver reads *ptr as usual
#pragma once

#include <cstdint>
#include <type_traits>

#include "isotope/base/call_site.hpp"
#include "isotope/base/float16.hpp"
#include "isotope/device/check.hpp"
#include "isotope/device/combine.hpp"
#include "isotope/device/memory.hpp"
#include "isotope/device/team.hpp"
#include "isotope/device/vector.hpp"

namespace isotope {

namespace detail {

template <class T, ReduceOp Op>
inline constexpr bool kReducible = std::is_same_v<T, float> || std::is_same_v<T, double> || is_narrow_float<T>
                                       ? Op == ReduceOp::add || Op == ReduceOp::min || Op == ReduceOp::max
                                       : AtomicWord<T> && Op != ReduceOp::multiply && Op != ReduceOp::average;

template <ReduceOp Op, class T>
ISOTOPE_HD T combine(T a, T b) {
  return static_cast<T>(combine_plain<Op>(static_cast<Wide<T>>(a), static_cast<Wide<T>>(b)));
}

template <ReduceOp Op, Accumulate A, class V>
ISOTOPE_HD V load_reduce_copies(const Team& team, const V* p) {
  using T = typename V::value_type;
  Wide<T> sums[V::kSize] = {};
  for (int rank = 0; rank < team.size(); ++rank) {
    const V copy = platform::load_elements<V>(team.at(p, rank));
    ISOTOPE_UNROLL
    for (int i = 0; i < V::kSize; ++i) {
      const auto element = static_cast<Wide<T>>(copy[i]);
      if (rank == 0) {
        sums[i] = element;
      } else {
        sums[i] = combine_plain<Op>(sums[i], element);
        if constexpr (A == Accumulate::native) sums[i] = static_cast<Wide<T>>(static_cast<T>(sums[i]));
      }
    }
  }
  V result;
  ISOTOPE_UNROLL
  for (int i = 0; i < V::kSize; ++i) result[i] = static_cast<T>(sums[i]);
  return result;
}

/// Reduces into one copy: the elements of a 4- or 8-byte word at a time, each of them atomically.
template <ReduceOp Op, class V>
ISOTOPE_HD void reduce_into(V* p, const V& value) {
  using T = typename V::value_type;
  constexpr int kBytes = sizeof(T) == 8 ? 8 : 4;
  using Part = Vec<T, kBytes / static_cast<int>(sizeof(T))>;
  using W = Word<kBytes>;
  ISOTOPE_UNROLL
  for (int i = 0; i < V::kSize; i += Part::kSize) {
    auto* word = reinterpret_cast<W*>(&p->data[i]);
    Part mine;
    ISOTOPE_UNROLL
    for (int k = 0; k < Part::kSize; ++k) mine[k] = value[i + k];
    W found = load(word);
    for (bool done = false; !done;) {
      Part next = bit_cast<Part>(found);
      ISOTOPE_UNROLL
      for (int k = 0; k < Part::kSize; ++k) next[k] = combine<Op>(next[k], mine[k]);
      done = compare_exchange(word, found, bit_cast<W>(next));
    }
  }
}

template <class V>
ISOTOPE_HD bool multimem_is_good(const Team& team, const char* name, const V* p, CallSite site) {
  static_assert(sizeof(V) >= 4, "multimem accesses are 4, 8 or 16 bytes wide");
  if (team.stopped()) return false;
  if constexpr (kCheckAddresses) return symmetric_is_good(team, {name, site}, "ptr", p, sizeof(V), sizeof(V));
  return true;
}

}  // namespace detail

/// By one thread: its accesses by one address of a byte come before its later ones by another. Nothing where members'
/// copies have one address each.
ISOTOPE_HD void alias_fence() { platform::alias_fence(); }

/// The reduction of all members' `*p`.
template <ReduceOp Op, Accumulate A = Accumulate::wide, class T, int N>
ISOTOPE_HD Vec<T, N> multimem_load_reduce(const Team& team, const Vec<T, N>* p, CallSite site = CallSite::current()) {
  static_assert(detail::kReducible<T, Op>, "this operation is not one of this type");
  using V = Vec<T, N>;
  if (!detail::multimem_is_good(team, "multimem_load_reduce", p, site)) return V{};
  if constexpr (platform::kMultimemLoadReduce < V, Op, A == Accumulate::wide >) {
    if (const V* all = team.multicast(p)) return platform::multimem_load_reduce < Op, A == Accumulate::wide > (all);
  }
  return detail::load_reduce_copies<Op, A>(team, p);
}

/// Reduces `value` into every member's `*p`.
template <ReduceOp Op, class T, int N>
ISOTOPE_HD void multimem_reduce(const Team& team, Vec<T, N>* p, const Vec<T, N>& value,
                                CallSite site = CallSite::current()) {
  static_assert(detail::kReducible<T, Op>, "this operation is not one of this type");
  using V = Vec<T, N>;
  if (!detail::multimem_is_good(team, "multimem_reduce", p, site)) return;
  if constexpr (platform::kMultimemReduce<V, Op>) {
    if (V* all = team.multicast(p)) return platform::multimem_reduce<Op>(all, value);
  }
  for (int rank = 0; rank < team.size(); ++rank) detail::reduce_into<Op>(team.at(p, rank), value);
}

/// Writes `value` to every member's `*p`.
template <class T, int N>
ISOTOPE_HD void multimem_store(const Team& team, Vec<T, N>* p, const Vec<T, N>& value,
                               CallSite site = CallSite::current()) {
  using V = Vec<T, N>;
  if (!detail::multimem_is_good(team, "multimem_store", p, site)) return;
  if constexpr (platform::kMultimemStore<V>) {
    if (V* all = team.multicast(p)) return platform::multimem_store(all, value);
  }
  for (int rank = 0; rank < team.size(); ++rank) platform::store_elements(team.at(p, rank), value);
}

}  // namespace isotope
