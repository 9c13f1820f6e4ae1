// One call of a collective by one group, its algorithm given as a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "isotope/collective/algorithm.hpp"
#include "isotope/collective/chains.hpp"
#include "isotope/collective/direct.hpp"
#include "isotope/collective/eager.hpp"
#include "isotope/collective/multimem_fold.hpp"
#include "isotope/collective/packet_rounds.hpp"
#include "isotope/collective/stage.hpp"

namespace isotope {

/// What a call is about. Plain data, as a kernel's argument. `count`: elements of the whole for all_reduce, reduce,
/// broadcast and the scans, of one member's block for the others.
struct CollectiveCall {
  Collective collective = Collective::all_reduce;
  Algo algo = Algo::automatic;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::add;
  Accumulate accumulate = Accumulate::wide;
  std::int32_t root = 0;
  void* dst = nullptr;
  const void* src = nullptr;
  std::size_t count = 0;
};

namespace detail {

/// What a group does of a call: blocks of a grid share it out.
struct Range {
  std::size_t begin, count;  // elements
};

#if ISOTOPE_CHECKED
/// Whether a member has refused that call. It says so apart from signatures: it waits for nobody, and others may still
/// read what it was about to do before.
ISOTOPE_HD bool has_refused(const ChannelWords& member, std::uint64_t call) {
  // In this order: who reads the new end reads the new beginning.
  const std::uint64_t to = load(&member.refused_to, Order::acquire);
  return call < to && load(&member.refused_from) <= call;
}

/// After a call that this member refused: until the others have come to it, they may still read its signature of the
/// one before, whose place is the next one's.
template <Group G>
ISOTOPE_HD bool catch_up(const Stage<G>& on) {
  on.group.sync();
  const ChannelWords* words = on.channel.words();
  if (words->calls == 0 || words->refused_to != words->calls) return true;
  const ChannelBarrier where{on.channel.words()};
  return await_at(on.group, on.team, where, Arrival{0, words->meetings, Order::acq_rel, false}, on.call);
}

/// A member that has refused its call comes to the meeting in which members compare theirs, so that the others learn of
/// it instead of waiting. It does not wait itself.
template <Group G>
ISOTOPE_HD void come_refused(const Stage<G>& on) {
  on.group.sync();
  if (on.group.is_leader()) {
    ChannelWords* words = on.channel.words();
    if (words->refused_to != words->calls) store(&words->refused_from, words->calls);
    store(&words->refused_to, ++words->calls, Order::release);
    const Arrival arrival{0, ++words->meetings, Order::acq_rel, false};
    const ChannelBarrier where{words};
    if (on.members() <= kAllToAll) {
      for (int ranks = 1; ranks < on.members(); ++ranks) raise_flag(on.team, where, arrival, on.me(), on.next(ranks));
    } else {
      // Also for members it has not heard of: whoever is let go too early sees the refusal and does nothing.
      for (int step = 0, ranks = 1; ranks < on.members(); ++step, ranks *= 2)
        raise_flag(on.team, where, arrival, step, on.next(ranks));
    }
  }
  on.group.sync();
}

/// Whether all members are about to do the same. Every member that does not agree with another records it, so all do.
/// `good`: this one has not refused its call. `count_name`: what the signature's count is called.
template <Group G>
ISOTOPE_HD bool all_agree(const Stage<G>& on, bool good, const CallSignature& signature, const char* count_name) {
  struct Field {
    const char* name;
    int shift, bits;
  };
  // The algorithm last: where it was chosen, another count or type may be why it differs.
  const Field fields[] = {{"collective", 0, 8}, {"type", 16, 8},    {"operation", 24, 7}, {"accumulate", 31, 1},
                          {"root", 32, 16},     {"blocks", 48, 16}, {count_name, 64, 64}, {"algorithm", 8, 8}};
  const auto part_of = [](const CallSignature& call_of, const Field& field) {
    return field.bits == 64 ? call_of.count : call_of.what >> field.shift & ((std::uint64_t{1} << field.bits) - 1);
  };
  if (!good) {
    come_refused(on);
    return false;
  }
  if (!catch_up(on)) return false;
  ChannelWords* words = on.channel.words();
  CallSignature* mine = &words->signatures[words->calls % 2];
  if (on.group.is_leader()) *mine = signature;
  if (!meet(on)) return false;
  // The first difference; a member that refused its call before all others.
  const char* what = nullptr;
  std::uint64_t a = 0, b = 0;
  int who = 0;
  Fault why = Fault::mismatch;
  for (int k = 0; k < on.members(); ++k) {
    if (has_refused(*on.team.at(words, k), words->calls)) what = "call", who = k, why = Fault::refused_there;
  }
  for (int k = 0; what == nullptr && k < on.members(); ++k) {
    const CallSignature theirs = *on.team.at(mine, k);
    for (const Field& field : fields) {
      a = part_of(*mine, field), b = part_of(theirs, field), who = k;
      if (a != b) what = field.name;
      if (what != nullptr) break;
    }
  }
  if (what != nullptr && on.group.is_leader()) {
    refuse(on.team, on.call, why, what, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b),
           on.team.world_rank(who));
  }
  on.group.sync();
  if (on.group.is_leader()) ++words->calls;
  on.group.sync();
  return told(on.team, what == nullptr);
}

/// The same of a call.
template <Group G>
ISOTOPE_HD bool same_call(const Stage<G>& on, bool good, const CollectiveCall& call, std::uint32_t groups) {
  const auto value = [](auto x) { return static_cast<std::uint64_t>(x); };
  const std::uint64_t how = combines(call.collective) ? value(call.op) | value(call.accumulate) << 7 : 0;
  const std::uint64_t what = value(call.collective) | value(call.algo) << 8 | value(call.type) << 16 | how << 24 |
                             (value(call.root) & 0xffff) << 32 | value(groups) << 48;
  return all_agree(on, good, {what, call.count}, "count");
}
#endif  // ISOTOPE_CHECKED

/// This group's `range` of a call, by one algorithm of one collective: nothing else is compiled in. R: a reduction, or
/// the bytes of an element where nothing is combined.
template <Collective C, Algo A, Group G, class R>
ISOTOPE_HD bool run_one(const Stage<G>& on, const R& r, const CollectiveCall& call, const Range& range) {
  std::size_t element = 0;
  if constexpr (combines(C)) {
    element = r.element();
  } else {
    element = r;
  }
  char* dst = static_cast<char*>(call.dst) + range.begin * element;
  const char* src = static_cast<const char*>(call.src) + range.begin * element;
  const std::size_t n = range.count, bytes = n * element;
  const Blocks elements{n, call.count}, blocks{bytes, call.count * element};
  constexpr bool kGather = C == Collective::all_gather;
  if constexpr (C == Collective::all_reduce) {
    if constexpr (A == Algo::one_shot) return all_reduce_one_shot(on, r, dst, src, n);
    if constexpr (A == Algo::two_shot) return all_reduce_two_shot(on, r, dst, src, n);
    if constexpr (A == Algo::ll8) return reduce_packets<Ll8, true>(on, r, dst, src, {n, 0});
    if constexpr (A == Algo::ll16) return reduce_packets<Ll16, true>(on, r, dst, src, {n, 0});
    if constexpr (A == Algo::ll128) return reduce_packets<Ll128, true>(on, r, dst, src, {n, 0});
    if constexpr (A == Algo::lamport) return reduce_packets<Lamport, true>(on, r, dst, src, {n, 0});
    if constexpr (A == Algo::multimem_one_shot) return all_reduce_multimem_one_shot(on, r, dst, src, n);
    if constexpr (A == Algo::multimem_two_shot) return all_reduce_multimem_two_shot(on, r, dst, src, n);
    if constexpr (A == Algo::ring) return all_reduce_ring(on, r, dst, src, n);
    if constexpr (A == Algo::double_tree) return all_reduce_double_tree(on, r, dst, src, n);
  } else if constexpr (C == Collective::reduce) {
    return reduce_direct(on, r, dst, src, n, call.root, A == Algo::one_shot);
  } else if constexpr (C == Collective::reduce_scatter) {
    if constexpr (A == Algo::pull) return reduce_scatter_pull(on, r, dst, src, elements);
    if constexpr (A == Algo::ring) return reduce_scatter_ring(on, r, dst, src, elements);
    if constexpr (A == Algo::ll8) return reduce_packets<Ll8, false>(on, r, dst, src, elements);
    if constexpr (A == Algo::ll16) return reduce_packets<Ll16, false>(on, r, dst, src, elements);
    if constexpr (A == Algo::lamport) return reduce_packets<Lamport, false>(on, r, dst, src, elements);
    if constexpr (A == Algo::multimem) return reduce_scatter_multimem(on, r, dst, src, elements);
  } else if constexpr (C == Collective::inclusive_scan || C == Collective::exclusive_scan) {
    return scan_direct(on, r, dst, src, n, C == Collective::inclusive_scan);
  } else if constexpr (C == Collective::broadcast) {
    if constexpr (A == Algo::flat) return broadcast_flat(on, dst, src, bytes, call.root);
    if constexpr (A == Algo::eager) return broadcast_eager(on, dst, src, bytes, call.root);
    if constexpr (A == Algo::tree) return broadcast_down(on, dst, src, bytes, call.root, 2, bytes != 0 ? bytes : 1);
    if constexpr (A == Algo::pipelined) return broadcast_down(on, dst, src, bytes, call.root, 1, 64 * 1024);
  } else {
    if constexpr (A == Algo::ll8) return exchange_packets<Ll8, kGather>(on, dst, src, blocks);
    if constexpr (A == Algo::ll16) return exchange_packets<Ll16, kGather>(on, dst, src, blocks);
    if constexpr (A == Algo::ll128) return exchange_packets<Ll128, kGather>(on, dst, src, blocks);
    if constexpr (A == Algo::eager) return exchange_eager(on, kGather, dst, src, blocks);
    if constexpr (A == Algo::push) return all_gather_push(on, dst, src, blocks);
    if constexpr (A == Algo::pull) return all_gather_pull(on, dst, src, blocks);
    if constexpr (A == Algo::push_2d) return all_gather_push_2d(on, dst, src, blocks);
    if constexpr (A == Algo::direct) return all_to_all_direct(on, dst, src, blocks);
  }
}

/// What is used when nobody says which: good anywhere, best where nobody has measured.
ISOTOPE_HD constexpr Algo default_algorithm(Collective collective, DataType type, std::size_t bytes) {
  const bool small = bytes <= 4096;
  switch (collective) {
    case Collective::all_reduce:
      return !small ? Algo::two_shot : platform::kIsGpu && is_float(type) ? Algo::lamport : Algo::one_shot;
    case Collective::reduce:
      return Algo::two_shot;
    case Collective::reduce_scatter:
      return Algo::pull;
    case Collective::all_gather:
      return small ? Algo::ll16 : Algo::push;
    case Collective::all_to_all:
      return small ? Algo::ll16 : Algo::direct;
    case Collective::broadcast:
      return Algo::flat;
    case Collective::inclusive_scan:
    case Collective::exclusive_scan:
      break;
  }
  return Algo::direct;
}
ISOTOPE_HD constexpr bool is_a_default(Collective collective, Algo algo) {
  for (const DataType type : {DataType::f32, DataType::i32})
    for (const std::size_t bytes : {std::size_t{0}, ~std::size_t{0}})
      if (default_algorithm(collective, type, bytes) == algo) return true;
  return false;
}

/// The same, the algorithm found among all of them, or among those that are a default.
template <bool Defaults, Collective C, Group G, class R>
ISOTOPE_HD bool run_any_of(const Stage<G>& on, const R& r, const CollectiveCall& call, const Range& range) {
#define X(c, a, dst, src)                                                          \
  if constexpr (combines(Collective::c) != std::is_integral_v<R> &&                \
                (!Defaults || (Collective::c == C && is_a_default(C, Algo::a)))) { \
    if (call.collective == Collective::c && call.algo == Algo::a)                  \
      return run_one<Collective::c, Algo::a>(on, r, call, range);                  \
  }
#include "isotope/collective/algorithms.def"
#undef X
  return false;
}

}  // namespace detail

}  // namespace isotope
