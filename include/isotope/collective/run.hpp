// One call of a collective by one group, its algorithm given as a value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/collective/algorithm.hpp"
#include "isotope/collective/chains.hpp"
#include "isotope/collective/direct.hpp"
#include "isotope/collective/multimem_fold.hpp"
#include "isotope/collective/packet_rounds.hpp"
#include "isotope/collective/stage.hpp"

namespace isotope {

/// What a call is about. Plain data, as a kernel's argument. `count`: elements of the whole for all_reduce, reduce, broadcast
/// and the scans, of one member's block for the others.
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
/// Whether all members make the same call. Every member that does not agree with another records it, so all do.
template <Group G>
ISOTOPE_HD bool same_call(const Stage<G>& on, const CollectiveCall& call, std::uint32_t groups) {
  struct Field {
    const char* name;
    int shift, bits;
  };
  constexpr Field kFields[] = {{"collective", 0, 8}, {"algorithm", 8, 8}, {"type", 16, 8},
                               {"operation", 24, 8}, {"root", 32, 16},    {"blocks", 48, 16}};
  const auto value = [](auto x) { return static_cast<std::uint64_t>(x); };
  ChannelWords* words = on.channel.words();
  on.group.sync();
  CallSignature* mine = &words->signatures[words->calls % 2];
  if (on.group.is_leader()) {
    *mine = {value(call.collective) | value(call.algo) << 8 | value(call.type) << 16 |
                 (combines(call.collective) ? value(call.op) : 0) << 24 | (value(call.root) & 0xffff) << 32 | value(groups) << 48,
             call.count};
  }
  if (!meet(on)) return false;
  bool same = true;
  for (int k = 0; same && k < on.members(); ++k) {
    const CallSignature theirs = *on.team.at(mine, k);
    for (const Field& field : kFields) {
      const std::uint64_t mask = (std::uint64_t{1} << field.bits) - 1;
      const std::uint64_t a = mine->what >> field.shift & mask, b = theirs.what >> field.shift & mask;
      if (a == b) continue;
      same = false;
      if (on.group.is_leader())
        refuse(on.team, on.call, Fault::mismatch, field.name, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b),
               on.team.world_rank(k));
      break;
    }
    if (same && theirs.count != mine->count) {
      same = false;
      if (on.group.is_leader())
        refuse(on.team, on.call, Fault::mismatch, "count", static_cast<std::int64_t>(mine->count),
               static_cast<std::int64_t>(theirs.count), on.team.world_rank(k));
    }
  }
  on.group.sync();
  if (on.group.is_leader()) ++words->calls;
  on.group.sync();
  return told(on.team, same);
}
#endif  // ISOTOPE_CHECKED

/// This group's `range` of a call that combines. `call.algo` is one of the collective's, not automatic.
template <Group G, class R>
ISOTOPE_HD bool run_reducing(const Stage<G>& on, const R& r, const CollectiveCall& call, const Range& range) {
  char* dst = static_cast<char*>(call.dst) + range.begin * r.element();
  const char* src = static_cast<const char*>(call.src) + range.begin * r.element();
  const std::size_t n = range.count;
  const Blocks blocks{n, call.count};
  switch (call.collective) {
    case Collective::all_reduce:
      switch (call.algo) {
        case Algo::one_shot:
          return all_reduce_one_shot(on, r, dst, src, n);
        case Algo::ll8:
          return all_reduce_packets<Ll8>(on, r, dst, src, n);
        case Algo::ll16:
          return all_reduce_packets<Ll16>(on, r, dst, src, n);
        case Algo::ll128:
          return all_reduce_packets<Ll128>(on, r, dst, src, n);
        case Algo::lamport:
          return all_reduce_packets<Lamport>(on, r, dst, src, n);
        case Algo::multimem_one_shot:
          return all_reduce_multimem_one_shot(on, r, dst, src, n);
        case Algo::multimem_two_shot:
          return all_reduce_multimem_two_shot(on, r, dst, src, n);
        case Algo::ring:
          return all_reduce_ring(on, r, dst, src, n);
        case Algo::double_tree:
          return all_reduce_double_tree(on, r, dst, src, n);
        default:
          return all_reduce_two_shot(on, r, dst, src, n);
      }
    case Collective::reduce:
      return reduce_direct(on, r, dst, src, n, call.root, call.algo == Algo::one_shot);
    case Collective::reduce_scatter:
      switch (call.algo) {
        case Algo::ring:
          return reduce_scatter_ring(on, r, dst, src, blocks);
        case Algo::multimem:
          return reduce_scatter_multimem(on, r, dst, src, blocks);
        default:
          return reduce_scatter_pull(on, r, dst, src, blocks);
      }
    default:
      return scan_direct(on, r, dst, src, n, call.collective == Collective::inclusive_scan);
  }
}

/// The same of a call that moves `element` bytes each.
template <Group G>
ISOTOPE_HD bool run_moving(const Stage<G>& on, const CollectiveCall& call, const Range& range, std::size_t element) {
  char* dst = static_cast<char*>(call.dst) + range.begin * element;
  const char* src = static_cast<const char*>(call.src) + range.begin * element;
  const std::size_t bytes = range.count * element;
  const Blocks blocks{bytes, call.count * element};
  if (call.collective == Collective::broadcast) {
    switch (call.algo) {
      case Algo::tree:
        return broadcast_down(on, dst, src, bytes, call.root, 2, bytes != 0 ? bytes : 1);
      case Algo::pipelined:
        return broadcast_down(on, dst, src, bytes, call.root, 1, 64 * 1024);
      default:
        return broadcast_flat(on, dst, src, bytes, call.root);
    }
  }
  const bool gather = call.collective == Collective::all_gather;
  switch (call.algo) {
    case Algo::ll8:
      return exchange_packets<Ll8>(on, gather, dst, src, blocks);
    case Algo::ll16:
      return exchange_packets<Ll16>(on, gather, dst, src, blocks);
    case Algo::ll128:
      return exchange_packets<Ll128>(on, gather, dst, src, blocks);
    case Algo::pull:
      return all_gather_pull(on, dst, src, blocks);
    case Algo::push_2d:
      return all_gather_push_2d(on, dst, src, blocks);
    case Algo::push:
      return all_gather_push(on, dst, src, blocks);
    default:
      return gather ? all_gather_push(on, dst, src, blocks) : all_to_all_direct(on, dst, src, blocks);
  }
}

}  // namespace detail

}  // namespace isotope
