// What the algorithms of all collectives are made of: meetings of the members, and rounds of messages between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "isotope/base/call_site.hpp"
#include "isotope/collective/fold.hpp"
#include "isotope/collective/workspace.hpp"
#include "isotope/device/check.hpp"
#include "isotope/device/group.hpp"
#include "isotope/device/reach.hpp"
#include "isotope/device/rma.hpp"
#include "isotope/device/sync.hpp"
#include "isotope/device/wait.hpp"

namespace isotope::detail {

/// One call of a group: where it runs, and what an error says about it.
template <Group G>
struct Stage {
  G group;
  const Team& team;
  const Channel& channel;
  Call call;
  /// The call is a whole kernel of a GPU: what earlier kernels of its stream did is complete before it starts, and what
  /// it read is read again after it ends. Fences that only say so are left out.
  bool whole_kernel = false;
  /// This group is one of several that share out the call's elements, word by word; each meets its own counterparts.
  std::uint32_t part = 0, parts = 1;
  /// The last meeting of this call, so that the next one need not look it up; 0: none yet.
  mutable std::uint64_t met = 0;

  ISOTOPE_HD Workers workers() const { return {part * group.size() + group.thread_rank(), parts * group.size()}; }
  ISOTOPE_HD bool kernel_orders() const { return platform::kIsGpu && whole_kernel; }
  ISOTOPE_HD int me() const { return team.rank(); }
  ISOTOPE_HD int members() const { return team.size(); }
  /// Member `ranks` further on or back, at most once around. Without a division, which is slow on a GPU.
  ISOTOPE_HD int next(int ranks = 1) const {
    const int rank = me() + ranks;
    return rank >= members() ? rank - members() : rank;
  }
  ISOTOPE_HD int previous(int ranks = 1) const {
    const int rank = me() - ranks;
    return rank < 0 ? rank + members() : rank;
  }
};

/// The words of a channel's barrier, for sync.hpp.
struct ChannelBarrier {
  ChannelWords* words;
  ISOTOPE_HD TeamWords::Barrier* flags(const Team&) const { return &words->meeting; }
  ISOTOPE_HD std::uint64_t* rounds(const Team&) const { return &words->meetings; }
};

/// A sync of the members' groups: what each wrote before is visible to all after it, and what each read is over.
template <Group G>
ISOTOPE_HD bool meet(const Stage<G>& on, Order order = Order::acq_rel) {
  on.group.sync();
  const ChannelBarrier where{on.channel.words()};
  const std::uint64_t last = on.met != 0 ? on.met : *where.rounds(on.team);
  on.met = last + 1;
  // A whole kernel's blocks have a warp at least, so code for fewer threads than members would never run, and yet be
  // fetched.
  if (on.kernel_orders() && on.members() <= kAllToAll)
    return meet_one_each(on.group, on.team, where, last, order, on.call);
  return meet_at(on.group, on.team, where, last, order, on.call);
}
/// The meeting that begins a call, which has written nothing yet, and the one that ends it, which reads nothing after.
template <Group G>
ISOTOPE_HD bool meet_first(const Stage<G>& on) {
  return meet(on, on.kernel_orders() ? Order::acquire : Order::acq_rel);
}
template <Group G>
ISOTOPE_HD bool meet_last(const Stage<G>& on) {
  return meet(on, on.kernel_orders() ? Order::release : Order::acq_rel);
}

/// Whether all threads' parts went well. Synchronises the group.
template <Group G>
ISOTOPE_HD bool together(const Stage<G>& on, bool well) {
  if constexpr (!std::same_as<G, Thread>) {
    well = on.group.all(well);
    on.group.sync();
  }
  return told(on.team, well);
}

/// The number of the round that this call begins, its first one or a later one. What was read and cleared in earlier
/// rounds is over for whoever hears from this thread now: the fence pairs with theirs, through the words that packets
/// are made of.
template <Group G>
ISOTOPE_HD std::uint64_t begin_round(const Stage<G>& on, const std::uint64_t* counter, bool first) {
  // Where a kernel begins, nothing of this group's is under way.
  if (!first || !on.kernel_orders()) {
    on.group.sync();
    fence_to(on.team);
  }
  return *counter + 1;
}

/// Ends it: the next one has the next number. After all threads have read the counter and finished.
template <Group G>
ISOTOPE_HD void end_round(const Stage<G>& on, std::uint64_t* counter, std::uint64_t round) {
  if (on.group.is_leader()) *counter = round;
  if (!on.kernel_orders()) on.group.sync();
}

/// Tells `to` that what this group wrote before is there: `flag` is this PE's own address of the word.
template <Group G>
ISOTOPE_HD void post(const Stage<G>& on, std::uint64_t* flag, std::uint64_t round, int to) {
  on.group.sync();
  if (on.group.is_leader() && !on.team.stopped())
    store_to(on.team.reach(), on.team.at(flag, to), round, Order::release);
}

/// Waits until `from` has posted that round, or a later one, on this PE's flag.
template <Group G>
ISOTOPE_HD bool await_post(const Stage<G>& on, const std::uint64_t* flag, std::uint64_t round, int from) {
  bool well = true;
  if (on.group.is_leader()) {
    Patience patience(on.team);
    well = !on.team.stopped() &&
           wait_for_word(patience, flag, Cmp::ge, round, Order::acquire, on.team.world_rank(from), on.call);
  }
  return told(on.team, on.group.broadcast(well));
}

/// By one thread, if it pays. Where there is no such way, it is not compiled.
template <Group G>
ISOTOPE_HD bool moved_past_caches(const Stage<G>& on, void* dst, const void* src, std::size_t bytes,
                                  std::size_t in_all) {
  if (in_all == 0 || on.group.size() != 1 || in_all < platform::past_caches_from(on.members()).copies) return false;
  platform::copy_past_caches(dst, src, bytes);
  platform::end_copies_past_caches();
  return true;
}

/// `bytes` from `src` to `dst`, addresses as they are, by the whole group. Does not synchronise it. `in_all`: what the
/// call writes like this; so much that no cache would hold it goes past them, where threads are single.
template <Group G>
ISOTOPE_HD void move(const Stage<G>& on, void* dst, const void* src, std::size_t bytes, std::size_t in_all = 0) {
  if (dst == src || bytes == 0) return;
  if constexpr (!platform::kIsGpu) {
    if (moved_past_caches(on, dst, src, bytes, in_all)) return;
  }
  const Workers workers = on.workers();
  platform::copy_share_deep(dst, src, bytes, workers.rank, workers.count);
}

}  // namespace isotope::detail
