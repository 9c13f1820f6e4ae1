// What kernels do with other PEs, enqueued on a stream by host code: for programs that have no kernel of their own to
// put it in, between kernels of a library that knows nothing of Isotope.
//
//   on_stream::put(world, stream, team, x.data(), y.data(), n, right);
//   on_stream::signal(world, stream, team, flag.data(), 1, SignalOp::add, right);
//   on_stream::wait(world, stream, team, flag.data(), Cmp::ge, round);
//   launch_my_kernel(stream);                                               // sees what came
//
// Each is a small kernel: it runs after what was enqueued before it, returns at once, and ends as every device call
// does: a wait that gives up stops the team and is thrown by synchronize. An empty Stream is the World's default one.
// On a GPU, in files that nvcc compiles. Ordered like the device calls of the same names (memory-model.md); on one
// stream each sees the ones before it. A kernel of somebody else's that is launched programmatically behind one of
// these comes to the GPU early: it has to wait (griddepcontrol.wait) before it reads what came.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "isotope/device/kernel_order.hpp"
#include "isotope/device/rma.hpp"
#include "isotope/device/signal.hpp"
#include "isotope/device/sync.hpp"
#include "isotope/host/world.hpp"

namespace isotope::on_stream {
inline namespace ISOTOPE_COMPILED_FOR {

namespace detail {

/// The threads of all blocks of a launch: they share out a copy among them, and walk through its memory together.
ISOTOPE_HD std::uint32_t rank_in_grid() {
  return this_block().rank() * this_block().size() + this_block().thread_rank();
}
ISOTOPE_HD std::uint32_t threads_of_grid() { return this_block().grid_size() * this_block().size(); }

/// First in kernels that are over soon. They may come to the GPU while the one before still runs, and the next one
/// while they do.
ISOTOPE_HD void take_turn(Team& team) {
  await_previous_kernel(team);
  allow_next_kernel();
}

ISOTOPE_KERNEL void put_kernel(Team team, char* dst, const char* src, std::size_t bytes, int to, CallSite site) {
  take_turn(team);
  if (bytes == 0 || team.stopped() || !isotope::detail::put_is_good(team, {"put", site}, dst, src, bytes, to)) return;
  platform::copy_share_deep(team.at(dst, to), src, bytes, rank_in_grid(), threads_of_grid());
}
ISOTOPE_KERNEL void get_kernel(Team team, char* dst, const char* src, std::size_t bytes, int from, CallSite site) {
  take_turn(team);
  if (bytes == 0 || team.stopped() || !isotope::detail::get_is_good(team, {"get", site}, dst, src, bytes, from)) return;
  platform::copy_share_deep(dst, team.at(src, from), bytes, rank_in_grid(), threads_of_grid());
}
ISOTOPE_KERNEL void signal_kernel(Team team, Signal* signal, std::uint64_t value, SignalOp op, int to, CallSite site) {
  take_turn(team);
  isotope::signal(this_thread(), team, signal, value, op, to, Order::release, site);
}
ISOTOPE_KERNEL void wait_kernel(Team team, Signal* signal, Cmp cmp, std::uint64_t value, int from, CallSite site) {
  // The next kernel does not come before this one ends, which may take long: other streams may need the room.
  await_previous_kernel(team);
  wait_until(this_thread(), team, signal, cmp, value, Order::acquire, from, site);
}
ISOTOPE_KERNEL void barrier_kernel(Team team, int index, CallSite site) {
  take_turn(team);
  barrier(this_block(), team, index, site);
}
ISOTOPE_KERNEL void sync_kernel(Team team, int index, Order order, CallSite site) {
  take_turn(team);
  sync(this_block(), team, index, order, site);
}

/// Threads of a block. On the CPU they take turns, so more than one would only cost fibers.
inline Dim3 threads_for(const World& world, std::uint32_t on_gpu) { return world.drives_gpu() ? on_gpu : 1; }

/// One block for what one block copies fast enough, more for more: on a GPU a word for each thread, up to as many as
/// leave room for the next copy to come early. They wait for nobody.
inline LaunchConfig shape_for(const World& world, std::size_t bytes, const Stream& stream) {
  const bool gpu = world.drives_gpu();
  const std::size_t each = gpu ? 4 << 10 : 64 << 10;
  const std::size_t most = gpu ? 2 * static_cast<std::size_t>(std::max(world.multiprocessors(), 1)) : 32;
  return {.grid = static_cast<std::uint32_t>(std::clamp<std::size_t>((bytes + each - 1) / each, 1, most)),
          .block = threads_for(world, 256),
          .stream = stream,
          .resident = false,
          .programmatic = true};
}

}  // namespace detail

/// n elements from this PE's `src` to member `to`'s copy of `dst`. Complete, and visible to who is told by a signal or
/// barrier after it on the stream.
template <class T>
void put(World& world, const Stream& stream, const Team& team, T* dst, const T* src, std::size_t n, int to,
         CallSite site = CallSite::current()) {
  world.launch<detail::put_kernel>(detail::shape_for(world, n * sizeof(T), stream), team, reinterpret_cast<char*>(dst),
                                   reinterpret_cast<const char*>(src), n * sizeof(T), to, site);
}
/// n elements of member `from`'s copy of `src` into this PE's `dst`.
template <class T>
void get(World& world, const Stream& stream, const Team& team, T* dst, const T* src, std::size_t n, int from,
         CallSite site = CallSite::current()) {
  world.launch<detail::get_kernel>(detail::shape_for(world, n * sizeof(T), stream), team, reinterpret_cast<char*>(dst),
                                   reinterpret_cast<const char*>(src), n * sizeof(T), from, site);
}
inline void signal(World& world, const Stream& stream, const Team& team, Signal* signal, std::uint64_t value,
                   SignalOp op, int to, CallSite site = CallSite::current()) {
  world.launch<detail::signal_kernel>({.stream = stream, .programmatic = true}, team, signal, value, op, to, site);
}
/// `from`: whom an error names; kNoPe where it may be anybody.
inline void wait(World& world, const Stream& stream, const Team& team, Signal* signal, Cmp cmp, std::uint64_t value,
                 int from = kNoPe, CallSite site = CallSite::current()) {
  world.launch<detail::wait_kernel>({.stream = stream, .programmatic = true}, team, signal, cmp, value, from, site);
}
/// Meets the other members' barriers of the same index, on a stream or in a kernel.
inline void barrier(World& world, const Stream& stream, const Team& team, int index = 0,
                    CallSite site = CallSite::current()) {
  world.launch<detail::barrier_kernel>(
      {.block = detail::threads_for(world, 32), .stream = stream, .programmatic = true}, team, index, site);
}
/// The same of sync.
inline void sync(World& world, const Stream& stream, const Team& team, int index = 0, Order order = Order::acq_rel,
                 CallSite site = CallSite::current()) {
  world.launch<detail::sync_kernel>({.block = detail::threads_for(world, 32), .stream = stream, .programmatic = true},
                                    team, index, order, site);
}
/// Completes what was put on this stream before. Kernels that ended have completed theirs, so there is nothing left to
/// do: it is here for engines with queues.
inline void quiet(World&, const Stream&, const Team&) {}

}  // namespace ISOTOPE_COMPILED_FOR
}  // namespace isotope::on_stream
