// Collectives from host code: on a team, in symmetric memory, at once or on a stream.
//
//   Collectives coll(world);                                     // over all PEs; collective to make
//   coll.all_reduce(y.data(), x.data(), n, ReduceOp::add);       // returns when y is there
//   on_stream::all_reduce(coll, stream, y.data(), x.data(), n);  // enqueues it, and returns
//   world.launch<k>({}, coll.team(), coll.workspace(), ...);     // kernels call collective/calls.hpp themselves
//
// calls.hpp says what each one does, and which buffers may be the same or any memory of the PE. All members make the
// same calls in the same order on one Collectives, from one stream at a time. A call whose arguments cannot be right
// (an unsupported combination, a bad root, buffers that overlap or are not symmetric) throws before anything moves;
// variable.hpp says what is known of its calls later. Arguments that differ across members are found by the checked
// build, on every member; it also tells members what another one refused. On a GPU, in files that nvcc compiles.
//
//   try {
//     coll.all_reduce(y.data(), x.data(), n);
//     world.synchronize();
//   } catch (const isotope::Error&) {  // a member did not come in time, say
//     coll.recover();                  // all members; until then calls throw out_of_step
//   }
//
// Which algorithm: How::algo, or what `isotope tune` measured on this machine, or a built-in table (choice.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "isotope/base/call_site.hpp"
#include "isotope/collective/calls.hpp"
#include "isotope/collective/symm.hpp"
#include "isotope/collective/variable.hpp"
#include "isotope/collective/workspace.hpp"
#include "isotope/host/collective_kernels.hpp"
#include "isotope/host/world.hpp"

namespace isotope {

/// 0: what suits the platform.
struct WorkspaceOptions {
  int channels = 0;            // groups that may be in a collective at once: blocks of the largest launch
  std::size_t slot_bytes = 0;  // what a member sends to another in one message; rounded up to a multiple of 1920
};

struct How {
  Algo algo = Algo::automatic;
  Accumulate accumulate = Accumulate::wide;
  std::uint32_t blocks = 0;  // 0: as many as suit the size
};

/// The World stays where it is, and outlives its Collectives.
class Collectives {
 public:
  /// Collective over the World, for the team of all PEs.
  explicit Collectives(World& world, const WorkspaceOptions& options = {}, CallSite site = CallSite::current());
  /// Collective over the World, for `team`; PEs that are no members pass an empty Team and may make no calls. Teams
  /// without a common member may be made in one call, each PE passing its own.
  Collectives(World& world, const Team& team, const WorkspaceOptions& options = {},
              CallSite site = CallSite::current());

  /// Collective over the members. After a call on the team has failed in a kernel, whose members may each have come to
  /// another place then: waits for this PE's streams, and begins afresh. Until then calls throw Error(out_of_step).
  /// What kernels of the user's had done on the workspace is over, and Workspace values that they were given are good
  /// again.
  void recover(CallSite site = CallSite::current());

  const Team& team() const { return team_; }
  /// For a kernel's arguments: ask for it at each launch, since it throws while a recover() is due.
  Workspace workspace(CallSite site = CallSite::current()) const {
    require_in_step("workspace", site);
    return workspace_;
  }
  World& world() const { return *world_; }
  /// For symm_all_reduce (collective/symm.hpp); as workspace().
  SymmContext symm_context(CallSite site = CallSite::current()) const;

  // `Gpu` is not for callers: it tells calls of files that were compiled for a GPU from the others'.
#define ISOTOPE_COMBINE(name)                                                                          \
  template <class T, bool Gpu = ISOTOPE_GPU_COMPILER>                                                  \
  void name(T* dst, const T* src, std::size_t n, ReduceOp op = ReduceOp::add, const How& how = {},     \
            CallSite site = CallSite::current()) {                                                     \
    run_typed<Collective::name, T, Gpu>(                                                               \
        {Collective::name, how.algo, data_type_of<T>, op, how.accumulate, 0, dst, src, n}, how, site); \
  }
  ISOTOPE_COMBINE(all_reduce)
  ISOTOPE_COMBINE(reduce_scatter)
  ISOTOPE_COMBINE(inclusive_scan)
  ISOTOPE_COMBINE(exclusive_scan)
#undef ISOTOPE_COMBINE
  template <class T, bool Gpu = ISOTOPE_GPU_COMPILER>
  void reduce(T* dst, const T* src, std::size_t n, ReduceOp op, int root, const How& how = {},
              CallSite site = CallSite::current()) {
    run_typed<Collective::reduce, T, Gpu>(
        {Collective::reduce, how.algo, data_type_of<T>, op, how.accumulate, root, dst, src, n}, how, site);
  }
  template <class T, bool Gpu = ISOTOPE_GPU_COMPILER>
  void all_gather(T* dst, const T* src, std::size_t each, const How& how = {}, CallSite site = CallSite::current()) {
    run_typed<Collective::all_gather, T, Gpu>(detail::moving<T>(Collective::all_gather, how.algo, dst, src, each), how,
                                              site);
  }
  template <class T, bool Gpu = ISOTOPE_GPU_COMPILER>
  void all_to_all(T* dst, const T* src, std::size_t each, const How& how = {}, CallSite site = CallSite::current()) {
    run_typed<Collective::all_to_all, T, Gpu>(detail::moving<T>(Collective::all_to_all, how.algo, dst, src, each), how,
                                              site);
  }
  template <class T, bool Gpu = ISOTOPE_GPU_COMPILER>
  void broadcast(T* dst, const T* src, std::size_t n, int root, const How& how = {},
                 CallSite site = CallSite::current()) {
    run_typed<Collective::broadcast, T, Gpu>(detail::moving<T>(Collective::broadcast, how.algo, dst, src, n, root), how,
                                             site);
  }
  /// Returns how many elements came, of all members together.
  template <class T, bool Gpu = ISOTOPE_GPU_COMPILER>
  std::size_t collect(T* dst, const T* src, std::size_t n, CallSite site = CallSite::current()) {
    enqueue_collect<T, Gpu>({}, dst, src, n, total_.data(), site);
    world_->stream().synchronize();
    return static_cast<std::size_t>(total_.get(0));
  }
  template <class T, bool Gpu = ISOTOPE_GPU_COMPILER>
  void all_to_all_v(T* dst, const std::uint64_t* dst_offsets, const T* src, const std::uint64_t* counts,
                    const std::uint64_t* src_offsets, std::uint64_t* received = nullptr,
                    CallSite site = CallSite::current()) {
    enqueue_all_to_all_v<T, Gpu>({}, dst, dst_offsets, src, counts, src_offsets, received, site);
    world_->stream().synchronize();
  }

  /// Any of them, its type a value: enqueued on `stream`. Where kernels run on the CPU.
  void enqueue(const Stream& stream, const CollectiveCall& call, CallSite site = CallSite::current());
  /// The same, and waits.
  void run(const CollectiveCall& call, CallSite site = CallSite::current());

  /// Enqueues a call whose element type is T.
  template <Collective C, class T, bool Gpu = ISOTOPE_GPU_COMPILER>
  void enqueue_typed(const Stream& stream, CollectiveCall call, const How& how, CallSite site) {
    if (!world_->drives_gpu()) return enqueue(stream, call, site);
    if constexpr (Gpu) {
      LaunchConfig config;
      check_or_tell<Gpu>(stream, name_of(C), site, [&] {
        check(call, site);
        config = shape(call, how, stream, ISOTOPE_LINES_LAND_WHOLE != 0);
      });
      detail::launch_on_gpu<C, T>(*world_, config, team_, workspace_, call, site);
    } else {
      refuse_gpu(call, site);
    }
  }

  /// Those of variable.hpp. `total`, which may be null, and what the others point to are read and written on the
  /// stream.
  template <class T, bool Gpu = ISOTOPE_GPU_COMPILER>
  void enqueue_collect(const Stream& stream, T* dst, const T* src, std::size_t n, std::uint64_t* total, CallSite site) {
    check_or_tell<Gpu>(stream, "collect", site, [&] { check_collect(dst, src, n, sizeof(T), site); });
    world_->launch<detail::collect_kernel<T>, detail::kCollectiveBound, Gpu>(shape_of_variable(stream), team_,
                                                                             workspace_, dst, src, n, total, site);
  }
  template <class T, bool Gpu = ISOTOPE_GPU_COMPILER>
  void enqueue_all_to_all_v(const Stream& stream, T* dst, const std::uint64_t* dst_offsets, const T* src,
                            const std::uint64_t* counts, const std::uint64_t* src_offsets, std::uint64_t* received,
                            CallSite site) {
    check_or_tell<Gpu>(stream, "all_to_all_v", site,
                       [&] { check_all_to_all_v(dst_offsets, src, counts, src_offsets, site); });
    world_->launch<detail::all_to_all_v_kernel<T>, detail::kCollectiveBound, Gpu>(
        shape_of_variable(stream), team_, workspace_, dst, dst_offsets, src, counts, src_offsets, received, site);
  }

 private:
  struct Choices;

  template <Collective C, class T, bool Gpu>
  void run_typed(const CollectiveCall& call, const How& how, CallSite site) {
    if (!world_->drives_gpu()) return run(call, site);
    enqueue_typed<C, T, Gpu>({}, call, how, site);
    world_->stream().synchronize();
  }
  /// `check` of a call's arguments, which throws; in the checked build the other members are told then.
  template <bool Gpu, class Check>
  void check_or_tell([[maybe_unused]] const Stream& stream, const char* call, CallSite site, const Check& check) {
    require_member(call, site);
    require_in_step(call, site);
#if ISOTOPE_CHECKED
    try {
      check();
    } catch (const Error&) {
      world_->launch<detail::refused_kernel, detail::kCollectiveBound, Gpu>(
          {.block = world_->drives_gpu() ? 32u : 1u, .stream = stream}, team_, workspace_);
      throw;
    }
#else
    check();
#endif  // ISOTOPE_CHECKED
  }
  void require_member(const char* call, CallSite site) const;
  /// Throws if a call on the team has failed since this was made or last recovered.
  void require_in_step(const char* call, CallSite site) const {
    if (team_.size() != 0 && load(&team_.state().stops) != stops_) throw_out_of_step(call, site);
  }
  [[noreturn]] void throw_out_of_step(const char* call, CallSite site) const;
  void clear_lamport_slots();
  bool passes_as_symmetric(const void* p, std::size_t bytes) const;
  [[noreturn]] void refuse_gpu(const CollectiveCall& call, CallSite site) const;
  /// Throws what is wrong with it, and chooses the algorithm.
  void check(CollectiveCall& call, CallSite site) const;
  void choose(CollectiveCall& call) const;
  void check_collect(const void* dst, const void* src, std::size_t n, std::size_t element, CallSite site) const;
  void check_all_to_all_v(const void* dst_offsets, const void* src, const void* counts, const void* src_offsets,
                          CallSite site) const;
  [[noreturn]] void refuse(Code code, const std::string& what, const std::string& why, CallSite site) const;
  void require_symmetric(const char* call, const char* argument, const void* p, std::size_t bytes, CallSite site) const;
  /// What the least of the PEs' GPUs has.
  struct LeastGpu {
    int multiprocessors, capability;
  };
  LeastGpu least_gpu(CallSite site) const;
  void agree_on_choices(CallSite site) const;
  /// `lines`: LL128 goes by lanes of warps.
  LaunchConfig shape(const CollectiveCall& call, const How& how, const Stream& stream, bool lines) const;
  LaunchConfig shape_of_variable(const Stream& stream) const;

  World* world_;
  Team team_;
  Symmetric<char> memory_;
  Symmetric<std::uint64_t> total_;
  Workspace workspace_;
  std::uint64_t stops_ = 0;         // of the team, when the workspace was last clear
  int blocks_of_variable_ = 1;      // the same on all PEs, which do not know what the others bring
  std::size_t landing_blocks_ = 0;  // of landed.hpp, the same on all PEs
  std::shared_ptr<const Choices> choices_;
};

namespace on_stream {
inline namespace ISOTOPE_COMPILED_FOR {

#define ISOTOPE_COMBINE(name)                                                                                          \
  template <class T>                                                                                                   \
  void name(Collectives& coll, const Stream& stream, T* dst, const T* src, std::size_t n, ReduceOp op = ReduceOp::add, \
            const How& how = {}, CallSite site = CallSite::current()) {                                                \
    coll.enqueue_typed<Collective::name, T>(                                                                           \
        stream, {Collective::name, how.algo, data_type_of<T>, op, how.accumulate, 0, dst, src, n}, how, site);         \
  }
ISOTOPE_COMBINE(all_reduce)
ISOTOPE_COMBINE(reduce_scatter)
ISOTOPE_COMBINE(inclusive_scan)
ISOTOPE_COMBINE(exclusive_scan)
#undef ISOTOPE_COMBINE
template <class T>
void reduce(Collectives& coll, const Stream& stream, T* dst, const T* src, std::size_t n, ReduceOp op, int root,
            const How& how = {}, CallSite site = CallSite::current()) {
  coll.enqueue_typed<Collective::reduce, T>(
      stream, {Collective::reduce, how.algo, data_type_of<T>, op, how.accumulate, root, dst, src, n}, how, site);
}
template <class T>
void all_gather(Collectives& coll, const Stream& stream, T* dst, const T* src, std::size_t each, const How& how = {},
                CallSite site = CallSite::current()) {
  coll.enqueue_typed<Collective::all_gather, T>(
      stream, isotope::detail::moving<T>(Collective::all_gather, how.algo, dst, src, each), how, site);
}
template <class T>
void all_to_all(Collectives& coll, const Stream& stream, T* dst, const T* src, std::size_t each, const How& how = {},
                CallSite site = CallSite::current()) {
  coll.enqueue_typed<Collective::all_to_all, T>(
      stream, isotope::detail::moving<T>(Collective::all_to_all, how.algo, dst, src, each), how, site);
}
template <class T>
void broadcast(Collectives& coll, const Stream& stream, T* dst, const T* src, std::size_t n, int root,
               const How& how = {}, CallSite site = CallSite::current()) {
  coll.enqueue_typed<Collective::broadcast, T>(
      stream, isotope::detail::moving<T>(Collective::broadcast, how.algo, dst, src, n, root), how, site);
}
/// `total`, which may be null, is how many elements came.
template <class T>
void collect(Collectives& coll, const Stream& stream, T* dst, const T* src, std::size_t n,
             std::uint64_t* total = nullptr, CallSite site = CallSite::current()) {
  coll.enqueue_collect(stream, dst, src, n, total, site);
}
/// The offsets and counts are read when the stream gets there: kernels before it on the stream may write them.
template <class T>
void all_to_all_v(Collectives& coll, const Stream& stream, T* dst, const std::uint64_t* dst_offsets, const T* src,
                  const std::uint64_t* counts, const std::uint64_t* src_offsets, std::uint64_t* received = nullptr,
                  CallSite site = CallSite::current()) {
  coll.enqueue_all_to_all_v(stream, dst, dst_offsets, src, counts, src_offsets, received, site);
}

}  // namespace ISOTOPE_COMPILED_FOR
}  // namespace on_stream

}  // namespace isotope
