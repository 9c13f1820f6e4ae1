// The kernels behind host/collectives.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/base/call_site.hpp"
#include "isotope/collective/calls.hpp"
#include "isotope/collective/variable.hpp"
#include "isotope/host/world.hpp"

namespace isotope::detail {

/// Block b of the grid on channel b. No sync of the grid at the end: the end of the kernel is one.
template <class T, ReduceOp Op, Accumulate A>
ISOTOPE_KERNEL void combine_kernel(Team team, Workspace workspace, CollectiveCall call, CallSite site) {
  const Block block = this_block();
  const Channel channel = workspace.channel(static_cast<int>(block.rank()));
  const Slice part =
      slice_of(call.count, static_cast<int>(block.rank()), static_cast<int>(block.grid_size()), 128 / sizeof(T));
  const Stage<Block> on{block, team, channel, {name_of(call.collective), site}};
  run_collective(on, Reduction<T, Op, A>{}, call, {part.begin, part.count}, block.grid_size());
}

template <int Bytes>
ISOTOPE_KERNEL void move_kernel(Team team, Workspace workspace, CollectiveCall call, CallSite site) {
  const Block block = this_block();
  const Channel channel = workspace.channel(static_cast<int>(block.rank()));
  const Slice part = slice_of(call.count, static_cast<int>(block.rank()), static_cast<int>(block.grid_size()), 128 / Bytes);
  const Stage<Block> on{block, team, channel, {name_of(call.collective), site}};
  run_collective(on, static_cast<std::size_t>(Bytes), call, {part.begin, part.count}, block.grid_size());
}

template <class T>
ISOTOPE_KERNEL void collect_kernel(Team team, Workspace workspace, T* dst, const T* src, std::size_t n,
                                   std::uint64_t* total, CallSite site) {
  std::size_t all = 0;
  const bool well = collect(this_block(), team, workspace.channel(0), dst, src, n, &all, site);
  if (well && this_block().is_leader()) *total = all;
}

template <class T>
ISOTOPE_KERNEL void all_to_all_v_kernel(Team team, Workspace workspace, T* dst, const std::uint64_t* dst_offsets,
                                        const T* src, const std::uint64_t* counts, const std::uint64_t* src_offsets,
                                        std::uint64_t* received, CallSite site) {
  all_to_all_v(this_block(), team, workspace.channel(0), dst, dst_offsets, src, counts, src_offsets, received, site);
}

/// One block; of one thread where threads take turns.
inline LaunchConfig one_group(const World& world, const Stream& stream) {
  return {.block = world.drives_gpu() ? 512u : 1u, .stream = stream};
}

/// The kernel of one type, its operation found among all. Instantiates them: for files that nvcc compiles.
template <class T>
void launch_on_gpu(World& world, const LaunchConfig& config, const Team& team, const Workspace& workspace,
                   const CollectiveCall& call, CallSite site) {
  if (!combines(call.collective)) {
    world.launch<move_kernel<sizeof(T)>>(config, team, workspace, call, site);
    return;
  }
  const auto launch = [&]<ReduceOp Op>() {
    if constexpr (reduces(data_type_of<T>, Op)) {
      if (is_narrow_float<T> && call.accumulate == Accumulate::native) {
        world.launch<combine_kernel<T, Op, Accumulate::native>>(config, team, workspace, call, site);
      } else {
        world.launch<combine_kernel<T, Op, Accumulate::wide>>(config, team, workspace, call, site);
      }
    }
  };
  switch (call.op) {
    case ReduceOp::add:
      return launch.template operator()<ReduceOp::add>();
    case ReduceOp::min:
      return launch.template operator()<ReduceOp::min>();
    case ReduceOp::max:
      return launch.template operator()<ReduceOp::max>();
    case ReduceOp::bit_and:
      return launch.template operator()<ReduceOp::bit_and>();
    case ReduceOp::bit_or:
      return launch.template operator()<ReduceOp::bit_or>();
    case ReduceOp::bit_xor:
      return launch.template operator()<ReduceOp::bit_xor>();
    case ReduceOp::multiply:
      return launch.template operator()<ReduceOp::multiply>();
    case ReduceOp::average:
      return launch.template operator()<ReduceOp::average>();
  }
}

}  // namespace isotope::detail
