// Collectives whose members bring different amounts: collect (a variable all-gather) and all_to_all_v. Called as those
// of calls.hpp: by a group on a channel, or by a Grid, whose blocks share out the data.
//
// What a member brings and where it goes may differ from the others'; all pass elements of the same size. What is known
// once members have told their lengths is looked at then, before anything is moved: on the CPU whether dst holds what
// comes, in the checked build all places and overlaps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/collective/calls.hpp"

namespace isotope {

namespace detail {

/// Calls `body` with the Stage of a call by a group, or by this block of a grid.
template <Group G, class Body>
ISOTOPE_HD bool on_stage(G group, const Team& team, const Channel& channel, Call call, const Body& body) {
  return body(Stage<G>{group, team, channel, call});
}
template <class Body>
ISOTOPE_HD bool on_stage(Grid, const Team& team, const Workspace& workspace, Call call, const Body& body) {
  return on_stage_of_grid(team, workspace, call, true, body);
}

/// Whether all members go on, whose own part is `good`; compared in the checked build alone.
template <Group G>
ISOTOPE_HD bool all_go_on([[maybe_unused]] const Stage<G>& on, bool good, [[maybe_unused]] int which,
                          [[maybe_unused]] std::size_t element) {
#if ISOTOPE_CHECKED
  const std::uint64_t blocks = static_cast<std::uint64_t>(on.parts) << 48;
  return all_agree(on, good, {static_cast<std::uint64_t>(which) | blocks, element}, "bytes of an element");
#else
  return good;
#endif  // ISOTOPE_CHECKED
}

/// What can be known before the members have met.
template <Group G>
ISOTOPE_HD bool variable_is_good(const Stage<G>& on) {
  if constexpr (kCheckRanks) {
    const Workspace& workspace = on.channel.workspace();
    if (!index_is_good(on.team, on.call, "channel", on.channel.index(), workspace.channels())) return false;
    if (!index_is_good(on.team, on.call, "team size", on.members(), workspace.members() + 1)) return false;
  }
  return true;
}

/// Whether the two have no byte in common.
ISOTOPE_HD bool apart(const char* a, std::size_t a_bytes, const char* b, std::size_t b_bytes) {
  const auto begin_a = reinterpret_cast<std::uintptr_t>(a), begin_b = reinterpret_cast<std::uintptr_t>(b);
  return a_bytes == 0 || b_bytes == 0 || begin_a + a_bytes <= begin_b || begin_b + b_bytes <= begin_a;
}

/// What a member passes to collect.
struct CollectedPart {
  char* dst;
  const char* src;
  std::size_t count, element, alignment;
};
template <class T>
ISOTOPE_HD CollectedPart part_of_collect(T* dst, const T* src, std::size_t n) {
  return {reinterpret_cast<char*>(dst), reinterpret_cast<const char*>(src), n, sizeof(T), alignof(T)};
}

/// Whether dst, which is symmetric, holds what comes: the same on all members.
template <Group G>
ISOTOPE_HD bool collected_fits(const Stage<G>& on, const CollectedPart& part, std::size_t all) {
  return symmetric_is_good(on.team, on.call, "dst", part.dst, all, part.alignment);
}
/// Whether the parts lie as they may.
template <Group G>
ISOTOPE_HD bool collected_is_good(const Stage<G>& on, const CollectedPart& part, std::size_t before, std::size_t all) {
  const std::size_t bytes = part.count * part.element;
  if (!collected_fits(on, part, all) || !local_is_good(on.team, on.call, "src", part.src, bytes)) return false;
  if (part.src == part.dst + before || apart(part.dst, all, part.src, bytes)) return true;
  return refuse(on.team, on.call, Fault::overlap, "dst", static_cast<std::int64_t>(all), 0, 0);
}

/// This group's part of a collect; `total`: how many bytes came.
template <Group G>
ISOTOPE_HD bool collect_part(const Stage<G>& on, const CollectedPart& part, std::size_t* total) {
  if (!variable_is_good(on)) return false;
  bool good = true;
  if constexpr (kCheckRanks) {
    good = index_is_good(on.team, on.call, "count", static_cast<std::int64_t>(part.count), kMostElements);
  }
  if (!all_go_on(on, good, kCollectCall, part.element)) return false;
  // Everyone's length, in one packet each.
  std::size_t before = 0, all = 0;
  const std::uint64_t mine = part.count * part.element;
  const Outgoing<Ll16> out{reinterpret_cast<const char*>(&mine), 0, sizeof(mine), sizeof(mine)};
  const auto take = [&](std::size_t, const auto& for_each) {
    return for_each([&](int k, std::uint64_t length) {
      if (k < on.me()) before += length;
      all += length;
    });
  };
  if (!packet_round<Ll16, true>(on, true, out, take)) return false;
  // The first thread has read them. Who has told its length is past its earlier use of dst: ordered here, before the
  // others go on.
  fence_to(on.team);
  before = on.group.broadcast(static_cast<std::uint64_t>(before));
  all = on.group.broadcast(static_cast<std::uint64_t>(all));
  if constexpr (kCheckAddresses) {
    if (!all_go_on(on, collected_is_good(on, part, before, all), kCollectCall, part.element)) return false;
  } else if constexpr (kCheckRanks) {
    if (!collected_fits(on, part, all)) return false;
  }
  for (int k = 0; k < on.members() && !on.team.stopped(); ++k)
    move(on, on.team.at(part.dst + before, on.next(k)), part.src, mine);
  *total = all;
  return meet(on);
}

/// What a member passes to all_to_all_v. In bytes: offsets and counts are of elements.
struct VariableParts {
  char* dst;
  const std::uint64_t* dst_offsets;
  const char* src;
  const std::uint64_t* counts;
  const std::uint64_t* src_offsets;
  std::size_t element;
};
template <class T>
ISOTOPE_HD VariableParts parts_of(T* dst, const std::uint64_t* dst_offsets, const T* src, const std::uint64_t* counts,
                                  const std::uint64_t* src_offsets) {
  return {
      reinterpret_cast<char*>(dst), dst_offsets, reinterpret_cast<const char*>(src), counts, src_offsets, sizeof(T)};
}

/// Whether all that is sent and received can be told in bytes. Where nothing is sent the offsets do not matter.
template <Group G>
ISOTOPE_HD bool lengths_are_good(const Stage<G>& on, const VariableParts& parts) {
  const auto fits = [&](const char* name, std::uint64_t value) {
    return index_is_good(on.team, on.call, name, static_cast<std::int64_t>(value), kMostElements);
  };
  for (int k = 0; k < on.members(); ++k) {
    const std::uint64_t sent = parts.counts[k], received = on.team.at(parts.counts, k)[on.me()];
    if (!fits("counts", sent) || (sent != 0 && !fits("src_offsets", parts.src_offsets[k]))) return false;
    if (!fits("counts", received) || (received != 0 && !fits("dst_offsets", parts.dst_offsets[k]))) return false;
    if (received != 0 && !fits("src_offsets", on.team.at(parts.src_offsets, k)[on.me()])) return false;
  }
  return true;
}

/// By one thread, once the members have met: whether what comes to this PE and what goes from it lie where they may.
template <Group G>
ISOTOPE_HD bool parts_are_good(const Stage<G>& on, const VariableParts& parts) {
  const std::size_t element = parts.element;
  if (!lengths_are_good(on, parts)) return false;
  for (int from = 0; from < on.members(); ++from) {
    const std::size_t bytes = on.team.at(parts.counts, from)[on.me()] * element;
    const char* there = parts.src + on.team.at(parts.src_offsets, from)[on.me()] * element;
    char* here = parts.dst + parts.dst_offsets[from] * element;
    if (!symmetric_is_good(on.team, on.call, "src", there, bytes)) return false;
    if (!local_is_good(on.team, on.call, "dst", parts.dst, bytes)) return false;
    // Any memory will do, but what lies in an object ends with it.
    const auto dst = reinterpret_cast<std::uint64_t>(parts.dst);
    if (find_object(on.team.state().control->objects, dst).bytes != 0 &&
        !symmetric_is_good(on.team, on.call, "dst", here, bytes))
      return false;
    for (int to = 0; to < on.members(); ++to) {
      const char* read = parts.src + parts.src_offsets[to] * element;
      const bool stays = from == on.me() && to == on.me() && here == read;
      if (!stays && !apart(here, bytes, read, parts.counts[to] * element))
        return refuse(on.team, on.call, Fault::overlap, "dst", static_cast<std::int64_t>(bytes), 0, 0);
    }
    for (int other = 0; other < from; ++other)
      if (!apart(here, bytes, parts.dst + parts.dst_offsets[other] * element,
                 on.team.at(parts.counts, other)[on.me()] * element))
        return refuse(on.team, on.call, Fault::overlap, "dst_offsets", static_cast<std::int64_t>(bytes), 0, 0);
  }
  return true;
}

/// Whether there is a place for what comes to this PE, once the members have met.
template <Group G>
ISOTOPE_HD bool comes_somewhere(const Stage<G>& on, const VariableParts& parts) {
  std::uint64_t count = 0;
  for (int k = 0; k < on.members(); ++k) count += on.team.at(parts.counts, k)[on.me()];
  return local_is_good(on.team, on.call, "dst", parts.dst, count * parts.element);
}

/// This group's part of an all_to_all_v.
template <Group G>
ISOTOPE_HD bool exchange_parts(const Stage<G>& on, const VariableParts& parts, std::uint64_t* received) {
  if (!variable_is_good(on)) return false;
  bool good = true;
  if constexpr (kCheckAddresses) {
    const auto entries = static_cast<std::size_t>(on.members()) * sizeof(std::uint64_t);
    good = symmetric_is_good(on.team, on.call, "counts", parts.counts, entries, sizeof(std::uint64_t)) &&
           symmetric_is_good(on.team, on.call, "src_offsets", parts.src_offsets, entries, sizeof(std::uint64_t)) &&
           local_is_good(on.team, on.call, "dst_offsets", parts.dst_offsets, entries);
  }
  if (!all_go_on(on, good, kAllToAllVCall, parts.element)) return false;
  if (!meet(on)) return false;
  if constexpr (kCheckAddresses) {
    good = told(on.team, on.group.broadcast(!on.group.is_leader() || parts_are_good(on, parts)));
    if (!all_go_on(on, good, kAllToAllVCall, parts.element)) return false;
  } else if constexpr (kCheckRanks) {
    if (!comes_somewhere(on, parts)) return false;
  }
  for (int i = 0; i < on.members(); ++i) {
    const int from = on.next(i);
    const std::uint64_t count = on.team.at(parts.counts, from)[on.me()],
                        offset = on.team.at(parts.src_offsets, from)[on.me()];
    move(on, parts.dst + parts.dst_offsets[from] * parts.element, on.team.at(parts.src, from) + offset * parts.element,
         count * parts.element);
    if (received != nullptr && on.part == 0 && on.group.is_leader()) received[from] = count;
  }
  return meet(on);
}

}  // namespace detail

/// The members' src one after another in every member's dst, which is symmetric and holds them all. `n` may differ;
/// `total` (in every thread) is the number of elements that came. src may be its own part of dst; else they do not
/// overlap.
template <class Who, class Where, class T>
ISOTOPE_HD bool collect(Who who, const Team& team, const Where& where, T* dst, const std::type_identity_t<T>* src,
                        std::size_t n, std::size_t* total, CallSite site = CallSite::current()) {
  return detail::on_stage(who, team, where, {"collect", site}, [&](const auto& on) {
    std::size_t bytes = 0;
    const bool well = detail::collect_part(on, detail::part_of_collect<T>(dst, src, n), &bytes);
    if (well) *total = bytes / sizeof(T);
    return well;
  });
}

/// Member k's src[src_offsets[me]] and counts[me] elements from there on, as member k has them, to dst[dst_offsets[k]],
/// for every k. src, src_offsets and counts are symmetric: one entry per member that it sends to. dst_offsets and
/// received (how many came from each; may be null) are this PE's own. What is written overlaps neither what is read
/// here nor itself; but what a member keeps for itself may stay where it is.
template <class Who, class Where, class T>
ISOTOPE_HD bool all_to_all_v(Who who, const Team& team, const Where& where, T* dst, const std::uint64_t* dst_offsets,
                             const std::type_identity_t<T>* src, const std::uint64_t* counts,
                             const std::uint64_t* src_offsets, std::uint64_t* received = nullptr,
                             CallSite site = CallSite::current()) {
  return detail::on_stage(who, team, where, {"all_to_all_v", site}, [&](const auto& on) {
    return detail::exchange_parts(on, detail::parts_of<T>(dst, dst_offsets, src, counts, src_offsets), received);
  });
}

}  // namespace isotope
