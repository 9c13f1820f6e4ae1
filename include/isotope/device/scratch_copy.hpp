// put and get through shared memory: on a GPU since sm_90 one thread of the group has the multiprocessor's copy engine
// (TMA) make the copy, and the group needs few threads for it.
//
//   put(block, team, dst, src, right, dynamic_shared<char>());
//
// As put and get without it (rma.hpp): same arguments, checks, order and completion, and the group is synchronised on
// entry and on return. `scratch` is shared memory of the block, the call's own until it returns: groups that call at
// the same time have one each. Its contents are unspecified afterwards.
//
// The engine wants at least 2 KiB of scratch, at 128-byte alignment, and both ends in global memory at 16-byte
// alignment. Where that is not so, on older GPUs, and on other platforms, the copy is the ordinary one. It uses up to
// 192 KiB and 128 bytes.
#pragma once

#include <cstddef>
#include <type_traits>

#include "isotope/base/call_site.hpp"
#include "isotope/device/group.hpp"
#include "isotope/device/rma.hpp"
#include "isotope/device/team.hpp"

namespace isotope {

namespace detail {

inline constexpr std::size_t kLeastScratch = 2048;

/// The group synchronises around it. A copy that is not `good` for one thread is made by none.
template <Group G>
ISOTOPE_HD void copy_through(G group, bool good, void* dst, const void* src, std::size_t bytes, Span<char> scratch) {
  const bool bulk =
      scratch.size() >= kLeastScratch && platform::can_bulk_copy(dst, src, bytes, scratch.data(), scratch.size());
  if (bulk) platform::begin_bulk_copy();
  good = agree(group, good) && good;
  if (good && bulk) {
    platform::bulk_copy_share(dst, src, bytes, group.thread_rank(), group.size(), scratch.data(), scratch.size());
  } else if (good) {
    copy(group, dst, src, bytes);
  }
  group.sync();
}

}  // namespace detail

template <Group G>
ISOTOPE_HD void put_bytes(G group, const Team& team, void* dst, const void* src, std::size_t bytes, int to,
                          Span<char> scratch, CallSite site = CallSite::current()) {
  const bool good = bytes != 0 && !team.stopped() && detail::put_is_good(team, {"put", site}, dst, src, bytes, to);
  char* theirs = good ? team.at(static_cast<char*>(dst), to) : nullptr;
  detail::copy_through(group, good, theirs, src, bytes, scratch);
}

template <Group G>
ISOTOPE_HD void get_bytes(G group, const Team& team, void* dst, const void* src, std::size_t bytes, int from,
                          Span<char> scratch, CallSite site = CallSite::current()) {
  const bool good = bytes != 0 && !team.stopped() && detail::get_is_good(team, {"get", site}, dst, src, bytes, from);
  const char* theirs = good ? team.at(static_cast<const char*>(src), from) : nullptr;
  detail::copy_through(group, good, dst, theirs, bytes, scratch);
}

/// Puts all of `src`; `dst` holds at least as many elements.
template <Group G, class T>
ISOTOPE_HD void put(G group, const Team& team, Span<T> dst, Span<const std::type_identity_t<T>> src, int to,
                    Span<char> scratch, CallSite site = CallSite::current()) {
  const std::size_t bytes = detail::bytes_within(team, {"put", site}, "dst", dst, src.size_bytes());
  put_bytes(group, team, dst.data(), src.data(), bytes, to, scratch, site);
}

/// Gets as many elements as `dst` holds; `src` holds at least as many.
template <Group G, class T>
ISOTOPE_HD void get(G group, const Team& team, Span<T> dst, Span<const std::type_identity_t<T>> src, int from,
                    Span<char> scratch, CallSite site = CallSite::current()) {
  const std::size_t bytes = detail::bytes_within(team, {"get", site}, "src", src, dst.size_bytes());
  get_bytes(group, team, dst.data(), src.data(), bytes, from, scratch, site);
}

}  // namespace isotope
