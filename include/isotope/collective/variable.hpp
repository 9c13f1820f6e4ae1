// Collectives whose members bring different amounts: collect (a variable all-gather) and all_to_all_v. Called as those
// of calls.hpp, by a group on a channel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/collective/calls.hpp"

namespace isotope {

/// The members' src one after another in every member's dst, which is symmetric and holds them all. `n` may differ;
/// `total` (in every thread) is the number of elements that came.
template <Group G, class T>
ISOTOPE_HD bool collect(G group, const Team& team, const Channel& channel, T* dst, const std::type_identity_t<T>* src,
                        std::size_t n, std::size_t* total, CallSite site = CallSite::current()) {
  const detail::Stage<G> on{group, team, channel, {"collect", site}};
  if constexpr (detail::kCheckRanks) {
    if (!detail::index_is_good(team, on.call, "channel", channel.index(), channel.workspace().channels())) return false;
  }
  // Everyone's count, in one packet each.
  std::size_t before = 0, all = 0;
  const std::uint64_t mine = n;
  const detail::Outgoing<detail::Ll16> out{reinterpret_cast<const char*>(&mine), 0, sizeof(mine), sizeof(mine)};
  const auto take = [&](std::size_t, const auto& for_each) {
    return for_each([&](int k, std::uint64_t count) {
      if (k < team.rank()) before += count;
      all += count;
    });
  };
  if (!detail::packet_round<detail::Ll16, true>(on, true, out, take)) return false;
  // The first thread has read them. Who has told its count is past its earlier use of dst: ordered here, before the
  // others go on.
  detail::fence_to(team);
  before = group.broadcast(static_cast<std::uint64_t>(before));
  all = group.broadcast(static_cast<std::uint64_t>(all));
  *total = all;
  if constexpr (detail::kCheckAddresses) {
    if (!detail::symmetric_is_good(team, on.call, "dst", dst, all * sizeof(T), alignof(T))) return false;
  }
  for (int k = 0; k < team.size() && !team.stopped(); ++k)
    detail::move(on, team.at(dst + before, on.next(k)), src, n * sizeof(T));
  return detail::meet(on);
}

/// Member k's src[src_offsets[me]] and counts[me] elements from there on, as member k has them, to dst[dst_offsets[k]],
/// for every k. src, src_offsets and counts are symmetric: one entry per member that it sends to. dst_offsets and
/// received (how many came from each; may be null) are this PE's own.
template <Group G, class T>
ISOTOPE_HD bool all_to_all_v(G group, const Team& team, const Channel& channel, T* dst,
                             const std::uint64_t* dst_offsets, const std::type_identity_t<T>* src,
                             const std::uint64_t* counts, const std::uint64_t* src_offsets,
                             std::uint64_t* received = nullptr, CallSite site = CallSite::current()) {
  const detail::Stage<G> on{group, team, channel, {"all_to_all_v", site}};
  if constexpr (detail::kCheckRanks) {
    if (!detail::index_is_good(team, on.call, "channel", channel.index(), channel.workspace().channels())) return false;
  }
  if constexpr (detail::kCheckAddresses) {
    const auto entries = static_cast<std::size_t>(team.size()) * sizeof(std::uint64_t);
    if (!detail::symmetric_is_good(team, on.call, "counts", counts, entries, sizeof(std::uint64_t)) ||
        !detail::symmetric_is_good(team, on.call, "src_offsets", src_offsets, entries, sizeof(std::uint64_t)))
      return false;
  }
  if (!detail::meet(on)) return false;
  for (int i = 0; i < team.size(); ++i) {
    const int from = on.next(i);
    const std::uint64_t count = team.at(counts, from)[team.rank()], offset = team.at(src_offsets, from)[team.rank()];
    detail::move(on, dst + dst_offsets[from], team.at(src, from) + offset, count * sizeof(T));
    if (received != nullptr && group.is_leader()) received[from] = count;
  }
  return detail::meet(on);
}

}  // namespace isotope
