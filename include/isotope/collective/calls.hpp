// Collectives inside a kernel: called by a group (thread, warp, block) or by a whole grid, of every member of a team.
//
//   ISOTOPE_KERNEL void k(Team team, Workspace ws, Span<float> x) {
//     auto block = this_block();
//     if (!all_reduce<ReduceOp::add>(block, team, ws.channel(block.rank()), part, part, n)) return;
//   }
//
//   call                                             what member `me` has afterwards
//   all_reduce<Op>(g, team, ch, dst, src, n)         dst[i] = src[i] of all members combined
//   reduce<Op>(..., n, root)                         the same at the root; others' dst is not touched
//   reduce_scatter<Op>(..., each)                    dst[i] = src[me * each + i] of all members combined
//   all_gather(..., each)                            dst[k * each + i] = src[i] of member k
//   all_to_all(..., each)                            dst[k * each + i] = src[me * each + i] of member k
//   broadcast(..., n, root)                          dst[i] = src[i] of the root, at the root too
//   inclusive_scan<Op>(..., n)                       dst[i] = src[i] of members 0 to me combined
//   exclusive_scan<Op>(..., n)                       the same to me - 1; the identity at 0
//   collect(..., n, &total)                          the members' src one after another, n may differ
//   all_to_all_v(...)                                parts of different lengths, told in symmetric memory
//
// A member's src is complete when that member calls: what others still put there would have to be waited for first.
// All threads of the group call, with the same arguments; all members call with the same arguments apart from local
// addresses, on the same channel. When a call returns true, this member's result is there for the whole group, and its
// src may be written. False: it gave up or was refused, as every device call (signal.hpp, check.hpp). Calls may follow
// each other without a barrier. Members' results have the same bits, and the same from run to run (multimem apart: the
// hardware's order). After an error members may be out of step: host/collectives.hpp, recover().
//
// dst may be src (for all_gather: src = dst + me * each; for reduce_scatter: dst = src + me * each; for all_to_all with
// all algorithms but direct; never for multimem_one_shot), and is so on all members or on none; else they do not
// overlap. algorithms.def says which buffers are symmetric.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/base/call_site.hpp"
#include "isotope/collective/algorithm.hpp"
#include "isotope/collective/reduction.hpp"
#include "isotope/collective/run.hpp"
#include "isotope/collective/workspace.hpp"
#include "isotope/device/sync.hpp"

namespace isotope {

/// All blocks of this PE's grid, on one channel each: block b has channel b. A call by a grid begins and ends with a
/// grid_sync, so what any block wrote before is in it, and all of the result is there for all blocks. Members' grids
/// are of the same size, and resident.
class Grid {};
ISOTOPE_HD Grid this_grid() { return {}; }

namespace detail {

/// How many elements of `count` each buffer has.
struct BufferElements {
  std::size_t dst, src;
};
ISOTOPE_HD constexpr BufferElements elements_of(Collective collective, std::size_t count, int members) {
  const std::size_t all = count * static_cast<std::size_t>(members);
  switch (collective) {
    case Collective::reduce_scatter:
      return {count, all};
    case Collective::all_gather:
      return {all, count};
    case Collective::all_to_all:
      return {all, all};
    default:
      return {count, count};
  }
}

/// Whether dst and src lie as the call allows: apart, or in the one place where they may be the same.
ISOTOPE_HD bool overlap_is_allowed(const CollectiveCall& call, std::size_t element, int me, int members) {
  const BufferElements elements = elements_of(call.collective, call.count, members);
  const auto dst = reinterpret_cast<std::uintptr_t>(call.dst), src = reinterpret_cast<std::uintptr_t>(call.src);
  if (call.count == 0 || dst + elements.dst * element <= src || src + elements.src * element <= dst) return true;
  const std::uintptr_t mine = static_cast<std::uintptr_t>(me) * call.count * element;
  switch (call.collective) {
    case Collective::all_gather:
      return src == dst + mine;
    case Collective::reduce_scatter:
      return dst == src + mine;
    case Collective::all_to_all:
      return dst == src && call.algo != Algo::direct;
    default:
      return dst == src && call.algo != Algo::multimem_one_shot;
  }
}

/// More than any memory has, and few enough that all members' bytes of them fit in a word.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

template <Group G>
ISOTOPE_HD bool collective_is_good(const Stage<G>& on, const CollectiveCall& call, std::size_t element) {
  if constexpr (kCheckRanks) {
    if (!index_is_good(on.team, on.call, "channel", on.channel.index(), on.channel.workspace().channels()))
      return false;
    if (!index_is_good(on.team, on.call, "team size", on.members(), on.channel.workspace().members() + 1)) return false;
    if (!rank_is_good(on.team, on.call, "root", call.root)) return false;
    // So that lengths in bytes fit.
    if (!index_is_good(on.team, on.call, "count", static_cast<std::int64_t>(call.count), kMostElements)) return false;
  }
  if constexpr (kCheckAddresses) {
    const BufferElements elements = elements_of(call.collective, call.count, on.members());
    const SymmetricNeeds needs = needs_of(call.collective, call.algo);
    const auto buffer_is_good = [&](const char* name, const void* p, std::size_t count, bool symmetric) {
      return symmetric ? symmetric_is_good(on.team, on.call, name, p, count * element, element)
                       : local_is_good(on.team, on.call, name, p, count * element);
    };
    if (!buffer_is_good("dst", call.dst, elements.dst, needs.dst)) return false;
    if (!buffer_is_good("src", call.src, elements.src, needs.src)) return false;
    if (!overlap_is_allowed(call, element, on.me(), on.members()))
      return refuse(on.team, on.call, Fault::overlap, "dst", static_cast<std::int64_t>(elements.dst * element), 0, 0);
  }
  return true;
}

/// Which algorithms a call is compiled with: the one that it names when compiling, those that are a default, or all.
enum class Among { one, defaults, all };

/// Whether a call whose algorithm is known can be made, by all members alike. ByValue: its algorithm was given when
/// called, so that nobody could look when compiling.
template <bool ByValue, Group G>
ISOTOPE_HD bool can_begin(const Stage<G>& on, const CollectiveCall& call, [[maybe_unused]] std::uint32_t groups) {
  // A channel that is none has no words to compare with.
  if (kCheckAddresses &&
      !index_is_good(on.team, on.call, "channel", on.channel.index(), on.channel.workspace().channels()))
    return false;
  bool good = true;
  // What is a whole kernel was launched by host code that has looked at the call.
  if (kCheckAddresses || !on.kernel_orders()) {
    if (ByValue && why_not(call.collective, call.algo, call.type, call.op) != nullptr)
      good = refuse(on.team, on.call, Fault::unsupported, "algorithm", static_cast<std::int64_t>(call.algo),
                    static_cast<std::int64_t>(call.type), static_cast<std::int64_t>(call.op));
    good = good && collective_is_good(on, call, size_of(call.type));
  }
#if ISOTOPE_CHECKED
  return same_call(on, good, call, groups);
#else
  return good;
#endif  // ISOTOPE_CHECKED
}

/// This group's `range` of a call. R: a Reduction, or an element size where nothing is combined. C and A: what the call
/// says, where it is known when compiling.
template <Among Which, Collective C = Collective::all_reduce, Algo A = Algo::automatic, Group G, class R>
ISOTOPE_HD bool run_collective(const Stage<G>& on, const R& r, CollectiveCall call, const Range& range,
                               std::uint32_t groups) {
  if constexpr (Which == Among::one) {
    static_assert(has_algorithm(C, A), "the collective has no such algorithm");
    call.algo = A;
  } else if (call.algo == Algo::automatic) {
    call.algo = default_algorithm(call.collective, call.type, call.count * size_of(call.type));
    if (call.collective == Collective::all_to_all && call.dst == call.src) call.algo = Algo::ll16;
  }
  if (!can_begin < Which == Among::all > (on, call, groups)) return false;
  if constexpr (Which == Among::one) {
    return run_one<C, A>(on, r, call, range);
  } else {
    return run_any_of < Which == Among::defaults, C > (on, r, call, range);
  }
}

template <Among Which, Collective C, Algo A, Group G, class R>
ISOTOPE_HD bool call_collective(G group, const Team& team, const Channel& channel, const R& r,
                                const CollectiveCall& call, CallSite site) {
  const Stage<G> on{group, team, channel, {name_of(C), site}};
  return run_collective<Which, C, A>(on, r, call, {0, call.count}, 1);
}

/// What each block of a grid does: a part, in whole lines; the first one's is as large as any.
ISOTOPE_HD Range range_of_block(const CollectiveCall& call, std::uint32_t block, std::uint32_t blocks) {
  const Slice part = slice_of(call.count, static_cast<int>(block), static_cast<int>(blocks), 128 / size_of(call.type));
  return {part.begin, part.count};
}

/// Calls `body` with this block's Stage, between two syncs of the grid. `by_words`: the blocks share out the call's
/// elements word by word.
template <class Body>
ISOTOPE_HD bool on_stage_of_grid(const Team& team, const Workspace& workspace, Call call, bool by_words,
                                 const Body& body) {
  const Block block = this_block();
  // All blocks alike: where one has no channel the others must not begin.
  if constexpr (kCheckRanks) {
    if (!index_is_good(team, call, "channel", static_cast<int>(block.grid_size()) - 1, workspace.channels()))
      return false;
  }
  const Channel channel = workspace.channel(static_cast<int>(block.rank()));
  if (!grid_sync(team, call.site)) return false;
  const Stage<Block> on{
      block, team, channel, call, false, by_words ? block.rank() : 0, by_words ? block.grid_size() : 1};
  const bool well = body(on);
  return grid_sync(team, call.site) && well;
}

/// By a grid.
template <Among Which, Collective C, Algo A, class R>
ISOTOPE_HD bool call_collective(Grid, const Team& team, const Workspace& workspace, const R& r,
                                const CollectiveCall& call, CallSite site) {
  return on_stage_of_grid(team, workspace, {name_of(C), site}, false, [&](const Stage<Block>& on) {
    const std::uint32_t blocks = on.group.grid_size();
    return run_collective<Which, C, A>(on, r, call, range_of_block(call, on.group.rank(), blocks), blocks);
  });
}

/// Bytes that a moving collective sees: a type of the same size stands for any other.
template <class T>
ISOTOPE_HD constexpr DataType moved_as() {
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8,
                "collectives move elements of 1, 2, 4 or 8 bytes; move larger ones as several");
  return sizeof(T) == 1   ? DataType::u8
         : sizeof(T) == 2 ? DataType::u16
         : sizeof(T) == 4 ? DataType::u32
                          : DataType::u64;
}

}  // namespace detail

namespace detail {

template <class T, ReduceOp Op, Accumulate A>
ISOTOPE_HD CollectiveCall combining(Collective collective, Algo algo, T* dst, const T* src, std::size_t n,
                                    int root = 0) {
  return {collective, algo, data_type_of<T>, Op, A, root, dst, src, n};
}
template <class T>
ISOTOPE_HD CollectiveCall moving(Collective collective, Algo algo, T* dst, const T* src, std::size_t n, int root = 0) {
  return {collective, algo, moved_as<T>(), ReduceOp::add, Accumulate::wide, root, dst, src, n};
}

template <Algo By>
inline constexpr Among kAmong = By == Algo::automatic ? Among::defaults : Among::one;

}  // namespace detail

// `Who` is a group with a Channel, or a Grid with a Workspace, which is a channel for each of its blocks. An algorithm
// that is given as a template argument is compiled alone, which spares registers and time on GPUs; one given as a
// value, after the other arguments, is found among all.
#define ISOTOPE_NO_SUCH_COMBINATION \
  "the collective has no such algorithm, or it does not do this for the type; docs/collectives.md has the table"
#define ISOTOPE_COMBINE(name, root_parameter, ...)                                                                    \
  template <ReduceOp Op, Accumulate A = Accumulate::wide, Algo By = Algo::automatic, class Who, class Where, class T> \
  ISOTOPE_HD bool name(Who who, const Team& team, const Where& where, T* dst, const std::type_identity_t<T>* src,     \
                       std::size_t n root_parameter, CallSite site = CallSite::current()) {                           \
    static_assert(why_not(Collective::name, By, data_type_of<T>, Op) == nullptr, ISOTOPE_NO_SUCH_COMBINATION);        \
    return detail::call_collective<detail::kAmong<By>, Collective::name, By>(                                         \
        who, team, where, Reduction<T, Op, A>{},                                                                      \
        detail::combining<T, Op, A>(Collective::name, By, dst, src, n __VA_OPT__(, ) __VA_ARGS__), site);             \
  }                                                                                                                   \
  template <ReduceOp Op, Accumulate A = Accumulate::wide, class Who, class Where, class T>                            \
  ISOTOPE_HD bool name(Who who, const Team& team, const Where& where, T* dst, const std::type_identity_t<T>* src,     \
                       std::size_t n root_parameter, Algo algo, CallSite site = CallSite::current()) {                \
    static_assert(why_not(Collective::name, Algo::automatic, data_type_of<T>, Op) == nullptr,                         \
                  ISOTOPE_NO_SUCH_COMBINATION);                                                                       \
    return detail::call_collective<detail::Among::all, Collective::name, Algo::automatic>(                            \
        who, team, where, Reduction<T, Op, A>{},                                                                      \
        detail::combining<T, Op, A>(Collective::name, algo, dst, src, n __VA_OPT__(, ) __VA_ARGS__), site);           \
  }
#define ISOTOPE_MOVE(name, root_parameter, ...)                                                                       \
  template <Algo By = Algo::automatic, class Who, class Where, class T>                                               \
  ISOTOPE_HD bool name(Who who, const Team& team, const Where& where, T* dst, const std::type_identity_t<T>* src,     \
                       std::size_t n root_parameter, CallSite site = CallSite::current()) {                           \
    return detail::call_collective<detail::kAmong<By>, Collective::name, By>(                                         \
        who, team, where, sizeof(T), detail::moving<T>(Collective::name, By, dst, src, n __VA_OPT__(, ) __VA_ARGS__), \
        site);                                                                                                        \
  }                                                                                                                   \
  template <class Who, class Where, class T>                                                                          \
  ISOTOPE_HD bool name(Who who, const Team& team, const Where& where, T* dst, const std::type_identity_t<T>* src,     \
                       std::size_t n root_parameter, Algo algo, CallSite site = CallSite::current()) {                \
    return detail::call_collective<detail::Among::all, Collective::name, Algo::automatic>(                            \
        who, team, where, sizeof(T),                                                                                  \
        detail::moving<T>(Collective::name, algo, dst, src, n __VA_OPT__(, ) __VA_ARGS__), site);                     \
  }
#define ISOTOPE_ROOT , int root

ISOTOPE_COMBINE(all_reduce, )
ISOTOPE_COMBINE(reduce, ISOTOPE_ROOT, root)
ISOTOPE_COMBINE(reduce_scatter, )
ISOTOPE_COMBINE(inclusive_scan, )
ISOTOPE_COMBINE(exclusive_scan, )
ISOTOPE_MOVE(all_gather, )
ISOTOPE_MOVE(all_to_all, )
ISOTOPE_MOVE(broadcast, ISOTOPE_ROOT, root)
#undef ISOTOPE_COMBINE
#undef ISOTOPE_NO_SUCH_COMBINATION
#undef ISOTOPE_MOVE
#undef ISOTOPE_ROOT

}  // namespace isotope
