// Remote memory access: put and get between this PE and a member of a team.
//
//   put(block, team, dst, src, right);                                        // my src into right's dst
//   put_signal(block, team, dst, src, &arrived, 1, SignalOp::add, right);     // the same, then the signal
//
// `dst` of a put and `src` of a get are symmetric and given as this PE's own address of them. All threads of the group
// call; the work is shared among them.
//
// Completion: when a blocking put returns to the group's threads, its source may be reused; a blocking get's data has
// arrived. Order: none towards other PEs until a signal, a fence or a barrier. A stopped team moves nothing.
#pragma once

#include <cstddef>
#include <cstring>

#include "isotope/device/group.hpp"
#include "isotope/device/signal.hpp"
#include "isotope/device/team.hpp"

namespace isotope {

namespace detail {

/// Copies by the whole group: each thread takes one contiguous share, in whole cache lines, so that neighbours do not
/// fight for one.
template <Group G>
ISOTOPE_HD void copy_shared_out(G group, void* dst, const void* src, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  const std::size_t lines = (bytes + kLine - 1) / kLine;
  const std::size_t each = (lines + group.size() - 1) / group.size() * kLine;
  const std::size_t from = each * group.thread_rank();
  if (from >= bytes) return;
  const std::size_t count = bytes - from < each ? bytes - from : each;
  std::memcpy(static_cast<char*>(dst) + from, static_cast<const char*>(src) + from, count);
}

}  // namespace detail

template <Group G>
ISOTOPE_HD void put_bytes(G group, const Team& team, void* dst, const void* src, std::size_t bytes, int to) {
  if (bytes == 0 || team.stopped()) return;
  detail::copy_shared_out(group, team.at(static_cast<char*>(dst), to), src, bytes);
}

template <Group G>
ISOTOPE_HD void get_bytes(G group, const Team& team, void* dst, const void* src, std::size_t bytes, int from) {
  if (bytes == 0 || team.stopped()) return;
  detail::copy_shared_out(group, dst, team.at(static_cast<const char*>(src), from), bytes);
}

/// Puts all of `src`; `dst` holds at least as many elements.
template <Group G, class T>
ISOTOPE_HD void put(G group, const Team& team, Span<T> dst, Span<const std::type_identity_t<T>> src, int to) {
  put_bytes(group, team, dst.data(), src.data(), src.size_bytes(), to);
}

/// Gets as many elements as `dst` holds.
template <Group G, class T>
ISOTOPE_HD void get(G group, const Team& team, Span<T> dst, Span<const std::type_identity_t<T>> src, int from) {
  get_bytes(group, team, dst.data(), src.data(), dst.size_bytes(), from);
}

/// A put followed by a signal to the same member: whoever sees the signal with acquire sees the data.
template <Group G, class T>
ISOTOPE_HD void put_signal(G group, const Team& team, Span<T> dst, Span<const std::type_identity_t<T>> src,
                           Signal* flag, std::uint64_t value, SignalOp op, int to) {
  put(group, team, dst, src, to);
  signal(group, team, flag, value, op, to);
}

}  // namespace isotope
