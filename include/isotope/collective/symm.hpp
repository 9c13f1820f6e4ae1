// symm_all_reduce: an all-reduce in place whose type and operation are numbers, for callers that have no templates.
//
//   SymmContext context = coll.symm_context();                    // host; a plain value that kernels may take
//   int code = symm_all_reduce(this_block(), &context, buffer, byte_offset, n, REDUCE_OP_SUM, DTYPE_FLOAT32);
//
// The n elements at buffer + byte_offset (symmetric, the same on every member) become their combination over all
// members. Called by all threads of a thread, warp or block, on channel 0, or of a grid (this_grid()), block b on
// channel b. Returns
//    0   done
//   -1   the context is null                    -3   the type has no such operation, or there is none
//   -2   the context is of no known type        -4   there is no such type
// or the number of a Code (base/codes.def) when the call gave up, as every device call may.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/base/call_site.hpp"
#include "isotope/collective/calls.hpp"
#include "isotope/collective/op_reduction.hpp"

namespace isotope {

// As numbers: those of ReduceOp and DataType.
inline constexpr std::int32_t REDUCE_OP_SUM = 0, REDUCE_OP_MIN = 1, REDUCE_OP_MAX = 2, REDUCE_OP_AND = 3,
                              REDUCE_OP_OR = 4, REDUCE_OP_XOR = 5, REDUCE_OP_PROD = 6, REDUCE_OP_AVG = 7;
inline constexpr std::int32_t DTYPE_FLOAT32 = 0, DTYPE_FLOAT64 = 1, DTYPE_FLOAT16 = 2, DTYPE_BFLOAT16 = 3,
                              DTYPE_E4M3 = 4, DTYPE_E5M2 = 5, DTYPE_INT8 = 6, DTYPE_INT16 = 7, DTYPE_INT32 = 8,
                              DTYPE_INT64 = 9, DTYPE_UINT8 = 10, DTYPE_UINT16 = 11, DTYPE_UINT32 = 12,
                              DTYPE_UINT64 = 13;

/// Who takes part, and where they meet. `type` tells a context of ours from others'.
struct SymmContext {
  static constexpr std::int32_t kIsotope = 2;
  std::int32_t type = kIsotope;
  std::int32_t rank = 0;
  std::int32_t world_size = 0;
  Team team;
  Workspace workspace;

  /// As Team's, for the one within: called by the platform when a kernel starts.
  ISOTOPE_HD void begin_kernel() { team.begin_kernel(); }
};

namespace detail {

/// The refusals, in the order of the arguments; 0 when there is none.
ISOTOPE_HD constexpr int symm_refusal(const SymmContext* context, std::int32_t op, std::int32_t type) {
  if (context == nullptr) return -1;
  if (context->type != SymmContext::kIsotope) return -2;
  if (op < 0 || op > REDUCE_OP_AVG) return -3;
  if (size_of(static_cast<DataType>(type)) == 0) return -4;
  return reduces(static_cast<DataType>(type), static_cast<ReduceOp>(op)) ? 0 : -3;
}

ISOTOPE_HD CollectiveCall symm_call(void* place, std::size_t n, std::int32_t op, std::int32_t type) {
  return {Collective::all_reduce,
          Algo::automatic,
          static_cast<DataType>(type),
          static_cast<ReduceOp>(op),
          Accumulate::wide,
          0,
          place,
          place,
          n};
}

/// Where kernels run on the CPU: in the library, so that the table of types is compiled once.
bool run_any(const Stage<Thread>& on, const CollectiveCall& call, const Range& range, std::uint32_t groups);
bool run_any(const Stage<Warp>& on, const CollectiveCall& call, const Range& range, std::uint32_t groups);
bool run_any(const Stage<Block>& on, const CollectiveCall& call, const Range& range, std::uint32_t groups);

/// On a GPU. Of the algorithms only two are compiled in: data that carries its own flag where one message has it all.
template <class T, Group G>
ISOTOPE_HD bool symm_of(const Stage<G>& on, const CollectiveCall& call, const Range& range) {
  const OpReduction<T> r(call.op);
  return call.algo == Algo::ll16 ? run_one<Collective::all_reduce, Algo::ll16>(on, r, call, range)
                                 : run_one<Collective::all_reduce, Algo::two_shot>(on, r, call, range);
}

template <Group G>
ISOTOPE_HD bool symm_by_type(const Stage<G>& on, CollectiveCall call, const Range& range, std::uint32_t groups) {
  // The largest part, so that all blocks choose alike.
  const std::size_t most = range_of_block(call, 0, groups).count * size_of(call.type);
  call.algo = most <= on.channel.slot_bytes() ? Algo::ll16 : Algo::two_shot;
  if (!can_begin<false>(on, call, groups)) return false;
  switch (call.type) {
#define X(name, type_) \
  case DataType::name: \
    return symm_of<type_>(on, call, range);
#include "isotope/base/data_types.def"
#undef X
  }
  return false;
}

template <Group G>
ISOTOPE_HD bool symm_part(const Stage<G>& on, const CollectiveCall& call, const Range& range, std::uint32_t groups) {
  if constexpr (platform::kIsGpu) {
    return symm_by_type(on, call, range, groups);
  } else {
    return run_any(on, call, range, groups);
  }
}

template <Group G>
ISOTOPE_HD bool symm_by(G group, const SymmContext& context, const CollectiveCall& call, Call name) {
  const Channel channel = context.workspace.channel(0);
  return symm_part(Stage<G>{group, context.team, channel, name}, call, {0, call.count}, 1);
}
ISOTOPE_HD bool symm_by(Grid, const SymmContext& context, const CollectiveCall& call, Call name) {
  return on_stage_of_grid(context.team, context.workspace, name, false, [&](const Stage<Block>& on) {
    const std::uint32_t blocks = on.group.grid_size();
    return symm_part(on, call, range_of_block(call, on.group.rank(), blocks), blocks);
  });
}

}  // namespace detail

template <class Who>
ISOTOPE_HD int symm_all_reduce(Who who, const SymmContext* context, void* local_ptr, std::size_t byte_offset,
                               std::size_t num_elements, std::int32_t reduce_op, std::int32_t dtype,
                               CallSite site = CallSite::current()) {
  if (const int refused = detail::symm_refusal(context, reduce_op, dtype)) return refused;
  const CollectiveCall call =
      detail::symm_call(static_cast<char*>(local_ptr) + byte_offset, num_elements, reduce_op, dtype);
  return detail::symm_by(who, *context, call, {"symm_all_reduce", site}) ? 0 : detail::outcome(context->team);
}

}  // namespace isotope
