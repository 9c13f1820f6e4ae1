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

  ISOTOPE_HD int me() const { return team.rank(); }
  ISOTOPE_HD int members() const { return team.size(); }
  /// Member `ranks` further on.
  ISOTOPE_HD int next(int ranks = 1) const { return (me() + ranks) % members(); }
  ISOTOPE_HD int previous(int ranks = 1) const { return (me() + members() - ranks) % members(); }
};

/// The words of a channel's barrier, for sync.hpp.
struct ChannelBarrier {
  ChannelWords* words;
  ISOTOPE_HD TeamWords::Barrier* flags(const Team&) const { return &words->meeting; }
  ISOTOPE_HD std::uint64_t* rounds(const Team&) const { return &words->meetings; }
};

/// A sync of the members' groups: what each wrote before is visible to all after it, and what each read is over.
template <Group G>
ISOTOPE_HD bool meet(const Stage<G>& on) {
  on.group.sync();
  const ChannelBarrier where{on.channel.words()};
  return await_at(on.group, on.team, where, come_to(on.group, on.team, where, Arrival{0, 0, Order::acq_rel, false}), on.call);
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

/// The number of the round that this call begins. What was read and cleared in earlier rounds is over for whoever hears from
/// this thread now: the fence pairs with theirs, through the words that packets are made of.
template <Group G>
ISOTOPE_HD std::uint64_t begin_round(const Stage<G>& on, const std::uint64_t* counter) {
  on.group.sync();
  fence(Order::acq_rel, Scope::system);
  return *counter + 1;
}

/// Ends it: the next one has the next number. After all threads have read the counter and finished.
template <Group G>
ISOTOPE_HD void end_round(const Stage<G>& on, std::uint64_t* counter, std::uint64_t round) {
  if (on.group.is_leader()) *counter = round;
  on.group.sync();
}

/// Tells `to` that what this group wrote before is there: `flag` is this PE's own address of the word.
template <Group G>
ISOTOPE_HD void post(const Stage<G>& on, std::uint64_t* flag, std::uint64_t round, int to) {
  on.group.sync();
  if (on.group.is_leader() && !on.team.stopped()) store(on.team.at(flag, to), round, Order::release);
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

/// `bytes` from `src` to `dst`, addresses as they are, by the whole group. Does not synchronise it.
template <Group G>
ISOTOPE_HD void move(const Stage<G>& on, void* dst, const void* src, std::size_t bytes) {
  if (dst != src && bytes != 0) copy(on.group, dst, src, bytes);
}

}  // namespace isotope::detail
