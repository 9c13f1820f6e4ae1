// The kernels behind host/collectives.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "isotope/base/call_site.hpp"
#include "isotope/collective/calls.hpp"
#include "isotope/collective/landed.hpp"
#include "isotope/collective/op_reduction.hpp"
#include "isotope/collective/variable.hpp"
#include "isotope/device/kernel_order.hpp"
#include "isotope/host/world.hpp"

namespace isotope::detail {

/// The most threads of a block on a GPU. Registers are dealt out as for twice as many, so that two blocks fit on a
/// multiprocessor: one of this call and one of the next, which may come early.
inline constexpr int kCollectiveThreads = 256, kCollectiveBound = 2 * kCollectiveThreads;

/// Whether the blocks of a grid share out an algorithm's words among all their threads, so that together they walk
/// through memory once; the others take a slice each, in which a block sends on what came to the same block of a peer.
constexpr bool shared_by_words(Collective collective, Algo algo) {
  return algo == Algo::pull || algo == Algo::push || algo == Algo::direct || algo == Algo::flat ||
         algo == Algo::two_shot || algo == Algo::multimem || algo == Algo::multimem_one_shot ||
         algo == Algo::multimem_two_shot || (collective == Collective::reduce && algo == Algo::one_shot);
}

/// Block b of the grid on channel b. R: a reduction, or the bytes of an element. `Members`: how many the team has, 0
/// for any number. No sync of the grid at the end: the end of the kernel is one.
template <Collective C, Algo A, class R, int Members>
ISOTOPE_KERNEL void collective_kernel(Team team, Workspace workspace, CollectiveCall call, R r, CallSite site) {
  if constexpr (Members != 0) ISOTOPE_GPU_ASSUME(team.size() == Members);
  const Block block = this_block();
  const Channel channel = workspace.channel(static_cast<int>(block.rank()));
  std::size_t unit = 0;  // elements of a line
  if constexpr (combines(C)) {
    unit = 128 / r.element();
  } else {
    unit = r == 1 ? 128 : r == 2 ? 64 : r == 4 ? 32 : 16;
  }
  constexpr bool kByWords = shared_by_words(C, A) && C != Collective::inclusive_scan && C != Collective::exclusive_scan;
  const Slice part =
      kByWords ? Slice{0, call.count}
               : slice_of(call.count, static_cast<int>(block.rank()), static_cast<int>(block.grid_size()), unit);
  // What needs nothing of the kernel before is worked out here, while that one ends; a compiler would do it after the
  // wait. So a block without a part leaves now (never the first one: the next kernel waits for this one alone; in the
  // checked build all stay to compare the call), and lines are fetched whose addresses take the channel's and the
  // thread's rank to know.
  if (!kCheckAddresses && part.count == 0 && call.count != 0) return;
  platform::fetch_ahead(&channel.words()->rounds);
  platform::fetch_ahead(reinterpret_cast<const char*>(workspace.channel(0).words()) + block.thread_rank());
  await_previous_kernel(team);
  allow_next_kernel();
  const Stage<Block> on{
      block, team, channel, {name_of(C), site}, true, kByWords ? block.rank() : 0, kByWords ? block.grid_size() : 1};
  run_collective<Among::one, C, A>(on, r, call, {part.begin, part.count}, block.grid_size());
}

/// reduce_scatter by pull through shared memory (landed.hpp). Compiled for GPUs whose engine does not copy there, as
/// collective_kernel.
template <class R, int Members>
ISOTOPE_KERNEL void landed_kernel(Team team, Workspace workspace, CollectiveCall call, R r,
                                  std::uint32_t words_of_block, CallSite site) {
  ISOTOPE_GPU_ASSUME(team.size() == Members);
  const Block block = this_block();
  const Channel channel = workspace.channel(static_cast<int>(block.rank()));
  const Stage<Block> on{block, team,         channel,          {name_of(Collective::reduce_scatter), site},
                        true,  block.rank(), block.grid_size()};
  if constexpr (platform::kIsGpu && !platform::kLandsByEngine) {
    await_previous_kernel(team);
    allow_next_kernel();
    run_one<Collective::reduce_scatter, Algo::pull>(on, r, call, {0, call.count});
  } else {
    reduce_scatter_landed<Members>(on, r, static_cast<char*>(call.dst), static_cast<const char*>(call.src),
                                   call.count * r.element() / 16, words_of_block, dynamic_shared<char>().data(), [&] {
                                     await_previous_kernel(team);
                                     allow_next_kernel();
                                   });
  }
}

/// A block's Stage in a kernel that is one call, where the end of the kernel is the sync of its grid.
ISOTOPE_HD Stage<Block> stage_of_block(const Team& team, const Channel& channel, Call call) {
  const Block block = this_block();
  return {block, team, channel, call, false, block.rank(), block.grid_size()};
}

/// `total`: where the number of elements that came goes; may be null.
template <class T>
ISOTOPE_KERNEL void collect_kernel(Team team, Workspace workspace, T* dst, const T* src, std::size_t n,
                                   std::uint64_t* total, CallSite site) {
  const Channel channel = workspace.channel(static_cast<int>(this_block().rank()));
  const Stage<Block> on = stage_of_block(team, channel, {"collect", site});
  std::size_t all = 0;
  const bool well = collect_part(on, part_of_collect(dst, src, n), &all);
  if (well && total != nullptr && on.part == 0 && on.group.is_leader()) *total = all / sizeof(T);
}

template <class T>
ISOTOPE_KERNEL void all_to_all_v_kernel(Team team, Workspace workspace, T* dst, const std::uint64_t* dst_offsets,
                                        const T* src, const std::uint64_t* counts, const std::uint64_t* src_offsets,
                                        std::uint64_t* received, CallSite site) {
  const Channel channel = workspace.channel(static_cast<int>(this_block().rank()));
  exchange_parts(stage_of_block(team, channel, {"all_to_all_v", site}),
                 parts_of(dst, dst_offsets, src, counts, src_offsets), received);
}

#if ISOTOPE_CHECKED
/// In place of a call that host code has refused: the other members, who may have made theirs, learn of it.
ISOTOPE_KERNEL void refused_kernel(Team team, Workspace workspace) {
  const Channel channel = workspace.channel(0);
  // A stopped team tells nothing: members may still be in an earlier call, whose meeting this would pass for.
  if (!team.stopped()) come_refused(stage_of_block(team, channel, {}));
}
#endif  // ISOTOPE_CHECKED

/// Sums, the common case, by the algorithms that are fast on GPUs have a kernel of their own.
constexpr bool has_own_kernel(Collective collective, Algo algo, ReduceOp op) {
  return op == ReduceOp::add && ((collective == Collective::all_reduce &&
                                  (algo == Algo::ll8 || algo == Algo::lamport || algo == Algo::two_shot)) ||
                                 (collective == Collective::reduce_scatter &&
                                  (algo == Algo::ll8 || algo == Algo::ll16 || algo == Algo::pull)));
}

/// The usual numbers of PEs have a kernel each, without what is for other numbers: short kernels begin sooner. Of
/// reductions, for the usual types alone, since each takes nvcc its time.
template <class T>
inline constexpr bool kHasKernelsByMembers =
    std::is_same_v<T, float> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

/// Launches a call that goes through shared memory, if it is one: where a kernel for its members is there, and its
/// blocks can take it at once.
template <Collective C, Algo A, int Members, class R>
bool launch_landed(World& world, LaunchConfig config, const Team& team, const Workspace& workspace,
                   const CollectiveCall& call, const R& r, CallSite site) {
  // In the checked build members compare their calls first, which is a meeting more.
  if constexpr (C == Collective::reduce_scatter && A == Algo::pull && Members != 0 && !ISOTOPE_CHECKED) {
    constexpr int kMostThreads = 2 * static_cast<int>(landed::kThreads);
    const std::size_t blocks = config.grid.count(), bytes = call.count * r.element();
    // A multiprocessor each, as many as there usually are: others of the same call, in a member's ordinary kernel, need
    // room too.
    if (world.compute_capability() < 90 || blocks > static_cast<std::size_t>(world.multiprocessors()) ||
        !landed::can_do(call.dst, call.src, bytes, blocks))
      return false;
    config.block = landed::kThreads;
    config.shared_bytes = landed::shared_bytes(Members);
    // Hopper's shared memory is more than most have.
    if (!world.fits<landed_kernel<R, Members>, kMostThreads>(config)) return false;
    world.launch<landed_kernel<R, Members>, kMostThreads>(config, team, workspace, call, r,
                                                          landed::words_of_block(bytes, blocks), site);
    return true;
  } else {
    return false;
  }
}

template <Collective C, Algo A, bool ByMembers, class R>
void launch_collective(World& world, const LaunchConfig& config, const Team& team, const Workspace& workspace,
                       const CollectiveCall& call, const R& r, CallSite site) {
  const auto launch = [&]<int Members>(std::integral_constant<int, Members>) {
    if (launch_landed<C, A, Members>(world, config, team, workspace, call, r, site)) return;
    world.launch<collective_kernel<C, A, R, Members>, kCollectiveBound>(config, team, workspace, call, r, site);
  };
  if constexpr (ByMembers) {
    // What nvcc makes of ll8 for two is slower than the kernel for all, and of ll16 no faster
    // (h200-collectives-steps.json, start 13).
    constexpr bool kSlowForTwo = (A == Algo::ll8 || A == Algo::ll16) && C != Collective::all_reduce;
    if constexpr (!kSlowForTwo) {
      if (team.size() == 2) return launch(std::integral_constant<int, 2>{});
    }
    if (team.size() == 4) return launch(std::integral_constant<int, 4>{});
    if (team.size() == 8) return launch(std::integral_constant<int, 8>{});
  }
  launch(std::integral_constant<int, 0>{});
}

template <Collective C, Algo A, class T>
void launch_combining(World& world, const LaunchConfig& config, const Team& team, const Workspace& workspace,
                      const CollectiveCall& call, CallSite site) {
  if constexpr (why_not(C, A, data_type_of<T>, ReduceOp::add) == nullptr) {
    if constexpr (is_narrow_float<T>) {
      if (call.accumulate == Accumulate::native) {
        using Native = OpReduction<T, Accumulate::native>;
        return launch_collective<C, A, false>(world, config, team, workspace, call, Native(call.op), site);
      }
    }
    if constexpr (has_own_kernel(C, A, ReduceOp::add)) {
      if (call.op == ReduceOp::add) {
        using Sum = Reduction<T, ReduceOp::add>;
        return launch_collective<C, A, kHasKernelsByMembers<T>>(world, config, team, workspace, call, Sum{}, site);
      }
    }
    launch_collective<C, A, false>(world, config, team, workspace, call, OpReduction<T>(call.op), site);
  }
}

/// The kernel of one collective and type, its algorithm found among all. Instantiates them: for files that nvcc
/// compiles.
template <Collective C, class T>
void launch_on_gpu(World& world, const LaunchConfig& config, const Team& team, const Workspace& workspace,
                   const CollectiveCall& call, CallSite site) {
#define X(c, a, dst, src)                                                                           \
  if constexpr (C == Collective::c) {                                                               \
    if (call.algo == Algo::a) {                                                                     \
      if constexpr (combines(C)) {                                                                  \
        launch_combining<C, Algo::a, T>(world, config, team, workspace, call, site);                \
      } else {                                                                                      \
        launch_collective<C, Algo::a, true>(world, config, team, workspace, call, sizeof(T), site); \
      }                                                                                             \
    }                                                                                               \
  }
#include "isotope/collective/algorithms.def"
#undef X
}

}  // namespace isotope::detail
