// Barriers over a team, and over the blocks of one PE's grid.
//
//   if (!barrier(block, team)) return;             // all members: everything before it is complete and seen
//   if (!sync(block, team, block.rank())) return;  // each block with its counterparts, at an index of its own
//   Arrival here = arrive(block, team, 1);  ...work...;  wait(block, team, here);
//
//   barrier              everything that happens before it on each member, non-blocking calls included, is complete and
//                        visible to all members after it
//   sync                 arrival, and earlier stores and blocking puts are visible; completes no non-blocking call
//   sync(Order::relaxed) arrival alone; release or acquire: one side of the ordering, where the other is had otherwise
//   arrive and wait      the two halves of a sync; with quiet before it, of a barrier
//
// All threads of the group call; members call with the same index, once for each round. A team has kTeamBarriers
// indices, each for one group at a time: groups that may meet at the same time use different ones. Rounds count up on
// the device and nothing is reset, so a replayed graph goes on counting. Each returns whether it was met; one that gave
// up (signal.hpp) names the first member that was missing. A team that was stopped in a barrier may be out of step with
// its members afterwards: split it anew.
#pragma once

#include <cstdint>

#include "isotope/base/call_site.hpp"
#include "isotope/device/group.hpp"
#include "isotope/device/reach.hpp"
#include "isotope/device/rma.hpp"
#include "isotope/device/team.hpp"
#include "isotope/device/wait.hpp"

namespace isotope {

/// A sync that this PE has come to and not yet waited for.
struct Arrival {
  int index = 0;
  std::uint64_t round = 0;
  Order order = Order::acq_rel;
  bool refused = false;  // the index is none of the team's
};

namespace detail {

/// Up to here every member tells every other one: one message long, and it is known who is missing. Beyond, each tells
/// a member 1, 2, 4, ... ranks on.
inline constexpr int kAllToAll = kBarrierFlags;

/// Where a barrier's words lie. One of the team's own; collectives have theirs in their workspace.
struct TeamBarrier {
  int index;
  ISOTOPE_HD TeamWords::Barrier* flags(const Team& team) const { return &team.words()->barriers[index]; }
  ISOTOPE_HD std::uint64_t* rounds(const Team& team) const { return &team.words()->rounds[index]; }
};

// A compiler folds these away: the order is a constant at the call.
ISOTOPE_HD Order order_of_raising(Order order) {
  return order == Order::relaxed || order == Order::acquire ? Order::relaxed : Order::release;
}
ISOTOPE_HD Order order_of_waiting(Order order) {
  return order == Order::relaxed || order == Order::release ? Order::relaxed : Order::acquire;
}

template <class Where>
ISOTOPE_HD void raise_flag(const Team& team, Where where, const Arrival& arrival, int flag, int to) {
  store_to(team.reach(), &team.at(where.flags(team), to)->flags[flag], arrival.round, order_of_raising(arrival.order));
}

template <class Where>
ISOTOPE_HD bool await_flag(const Team& team, Where where, Patience& patience, const Arrival& arrival, int flag,
                           int from, Call call) {
  return wait_for_word(patience, &where.flags(team)->flags[flag], Cmp::ge, arrival.round,
                       order_of_waiting(arrival.order), team.world_rank(from), call);
}

/// `last`: the round before, which every thread has read; the leader writes the new one once all of them have, at the
/// end of the wait.
template <Group G, class Where>
ISOTOPE_HD Arrival come_to(G group, const Team& team, Where where, std::uint64_t last, Arrival arrival) {
  arrival.round = last + 1;
  if (team.stopped()) return arrival;
  const int me = team.rank(), members = team.size();
  const Share share = share_of(group);
  if (members <= kAllToAll) {
    // From the next rank on, so that members do not all begin with the same one.
    for (std::uint32_t i = share.first; i < static_cast<std::uint32_t>(members) - 1; i += share.step) {
      int to = me + 1 + static_cast<int>(i);
      if (to >= members) to -= members;
      raise_flag(team, where, arrival, me, to);
    }
  } else if (group.is_leader()) {
    raise_flag(team, where, arrival, 0, (me + 1) % members);
  }
  return arrival;
}

template <Group G>
ISOTOPE_HD Arrival come(G group, const Team& team, int index, Order order, Call call) {
  group.sync();
  Arrival arrival{index, 0, order, false};
  if constexpr (kCheckRanks) {
    arrival.refused = !index_is_good(team, call, "index", index, kTeamBarriers);
    if (arrival.refused) return arrival;
  }
  const TeamBarrier where{index};
  return come_to(group, team, where, *where.rounds(team), arrival);
}

template <Group G, class Where>
ISOTOPE_HD bool await_at(G group, const Team& team, Where where, const Arrival& arrival, Call call) {
  bool well = !team.stopped() && !arrival.refused;
  Patience patience(team);
  const int me = team.rank(), members = team.size();
  const Share share = share_of(group);
  if (members <= kAllToAll) {
    for (std::uint32_t i = share.first; well && i < static_cast<std::uint32_t>(members); i += share.step) {
      if (static_cast<int>(i) != me)
        well = await_flag(team, where, patience, arrival, static_cast<int>(i), static_cast<int>(i), call);
    }
  } else if (group.is_leader()) {
    for (int step = 0, distance = 1; well && distance < members; ++step, distance *= 2) {
      if (step != 0) raise_flag(team, where, arrival, step, (me + distance) % members);
      well = await_flag(team, where, patience, arrival, step, (me + members - distance) % members, call);
    }
  }
  well = agree(group, well);
  if (group.is_leader() && !arrival.refused) *where.rounds(team) = arrival.round;
  return told(team, well);
}

template <Group G>
ISOTOPE_HD bool await(G group, const Team& team, const Arrival& arrival, Call call) {
  return await_at(group, team, TeamBarrier{arrival.index}, arrival, call);
}

/// Whether there is a thread for each other member, which then tells that one and waits for that one.
template <Group G>
ISOTOPE_HD bool has_thread_for_each(G group, const Team& team) {
  return platform::kThreadsRunTogether && team.size() <= kAllToAll &&
         group.size() + 1 >= static_cast<std::uint32_t>(team.size());
}

/// The member that this thread meets in a group that has one for each, and the words between the two. Without theirs it
/// tells nobody, without mine it waits for nobody.
struct Opposite {
  int peer = 0;
  std::uint64_t* theirs = nullptr;
  const std::uint64_t* mine = nullptr;
};
template <Group G, class Where>
ISOTOPE_HD Opposite opposite_of(G group, const Team& team, Where where) {
  Opposite other;
  const int members = team.size(), thread = static_cast<int>(group.thread_rank());
  if (thread >= members - 1) return other;
  // From the next rank on, so that members do not all begin with the same one.
  other.peer = team.rank() + 1 + thread;
  if (other.peer >= members) other.peer -= members;
  TeamWords::Barrier* flags = where.flags(team);
  other.theirs = &team.at(flags, other.peer)->flags[team.rank()];
  other.mine = &flags->flags[other.peer];
  return other;
}
/// `told_all`: called by every thread, once the others have been told or nobody will be.
template <class ToldAll>
ISOTOPE_HD bool meet_opposite(const Team& team, const Opposite& other, std::uint64_t round, Order order, Call call,
                              const ToldAll& told_all) {
  // Written out for each way: as one condition it is looked at twice in every barrier.
  if (team.stopped()) return told_all(), false;
  if (other.mine == nullptr) return told_all(), true;
  store_to(team.reach(), other.theirs, round, order_of_raising(order));
  told_all();
  Patience patience(team);
  return wait_for_word(patience, other.mine, Cmp::ge, round, order_of_waiting(order), team.world_rank(other.peer),
                       call);
}

/// Both halves of a sync, after the group's threads have met, where there is a thread for each other member. `last`: as
/// above.
template <Group G, class Where>
ISOTOPE_HD bool meet_one_each(G group, const Team& team, Where where, std::uint64_t last, Order order, Call call) {
  const bool well = agree(group, meet_opposite(team, opposite_of(group, team, where), last + 1, order, call, [] {}));
  if (group.is_leader()) *where.rounds(team) = last + 1;
  return told(team, well);
}
/// The same for any group.
template <Group G, class Where>
ISOTOPE_HD bool meet_at(G group, const Team& team, Where where, std::uint64_t last, Order order, Call call) {
  if (has_thread_for_each(group, team)) return meet_one_each(group, team, where, last, order, call);
  return await_at(group, team, where, come_to(group, team, where, last, Arrival{0, 0, order, false}), call);
}

/// Whether a group of a GPU is one warp, with a lane for each other member. It looks with all lanes, the last ones at
/// the last member's word: each look is one of all of them, so they never go apart, and what one has seen all know.
template <Group G>
ISOTOPE_HD bool meets_as_one(G group, const Team& team) {
  return platform::kIsGpu && is_whole_warp(group) && team.size() > 1 && has_thread_for_each(group, team);
}
template <Group G, class Where>
ISOTOPE_HD Opposite opposite_of_lane(G group, const Team& team, Where where) {
  const int others = team.size() - 1, lane = static_cast<int>(group.thread_rank());
  Opposite other;
  other.peer = team.rank() + 1 + (lane < others ? lane : others - 1);
  if (other.peer > others) other.peer -= others + 1;
  TeamWords::Barrier* flags = where.flags(team);
  if (lane < others) other.theirs = &team.at(flags, other.peer)->flags[team.rank()];
  other.mine = &flags->flags[other.peer];
  return other;
}
/// By a lane of such a group, whose opposite that is. `told_all`: called once the others have been told.
template <Group G, class ToldAll>
ISOTOPE_HD bool meet_as_one(G group, const Team& team, const Opposite& other, std::uint64_t round, Order order,
                            Call call, const ToldAll& told_all) {
  const bool asks = !team.stopped();
  if (asks && other.theirs != nullptr) store_to(team.reach(), other.theirs, round, order_of_raising(order));
  told_all();
  order = order_of_waiting(order);
  ISOTOPE_GPU_ROLLED
  for (int poll = 0; poll < kFirstPolls; poll += kPollsInRow) {
    ISOTOPE_GPU_UNROLL
    for (int one = 0; one < kPollsInRow; ++one) {
      std::uint64_t found = load(other.mine, order_of_polls(order));
      if (!platform::all_of_whole_warp(asks && found >= round)) continue;
      settle(other.mine, Cmp::ge, round, order, Scope::system, found);  // rounds only go up: what was seen stays true
      group.sync();
      return true;
    }
  }
  bool well = asks;
  if (asks && other.theirs != nullptr) {
    Patience patience(team);
    well = wait_for_word(patience, other.mine, Cmp::ge, round, order, team.world_rank(other.peer), call);
  }
  return told(team, agree(group, well));
}

template <Group G>
ISOTOPE_HD bool meet(G group, const Team& team, int index, Order order, Call call) {
  group.sync();
  if constexpr (kCheckRanks) {
    if (!index_is_good(team, call, "index", index, kTeamBarriers)) return told(team, agree(group, false));
  }
  const TeamBarrier where{index};
  const std::uint64_t last = *where.rounds(team);
  if constexpr (platform::kIsGpu) {
    if (meets_as_one(group, team)) {
      return meet_as_one(group, team, opposite_of_lane(group, team, where), last + 1, order, call, [&] {
        // Written while the others' words are on their way, and not before they are told: a release would wait for it.
        group.sync();  // all lanes have read it
        if (group.is_leader()) *where.rounds(team) = last + 1;
      });
    }
  }
  return meet_at(group, team, where, last, order, call);
}

}  // namespace detail

/// This PE has come to round `round` of the barrier `index`. What its group wrote before is visible to those who wait,
/// unless `order` is relaxed. Follow it by one wait.
template <Group G>
ISOTOPE_HD Arrival arrive(G group, const Team& team, int index = 0, Order order = Order::acq_rel,
                          CallSite site = CallSite::current()) {
  return detail::come(group, team, index, order, {"arrive", site});
}

/// Waits until every member has come to the same round.
template <Group G>
ISOTOPE_HD bool wait(G group, const Team& team, const Arrival& arrival, CallSite site = CallSite::current()) {
  return detail::await(group, team, arrival, {"wait", site});
}

template <Group G>
ISOTOPE_HD bool sync(G group, const Team& team, int index = 0, Order order = Order::acq_rel,
                     CallSite site = CallSite::current()) {
  return detail::meet(group, team, index, order, {"sync", site});
}

template <Group G>
ISOTOPE_HD bool barrier(G group, const Team& team, int index = 0, CallSite site = CallSite::current()) {
  platform::complete_puts();
  // Loads and stores have no queue to drain: the release of the arrival and the acquire of the wait order all of them.
  return detail::meet(group, team, index, Order::acq_rel, {"barrier", site});
}

/// Waits for all blocks of this PE's grid, and shows each what the others wrote before. All threads of all blocks call;
/// the blocks must be resident together. `team` is any team of this PE that no other grid uses for this at the same
/// time: it holds the count.
ISOTOPE_HD bool grid_sync(const Team& team, CallSite site = CallSite::current()) {
  const Block block = this_block();
  block.sync();
  bool well = true;
  if (block.is_leader()) {
    well = !team.stopped();
    if (well) {
      // Each block adds 1 and the first one what is missing to 2^32, so the high half counts completed rounds whatever
      // the number of blocks. That half may come round again: what counts is which of two words is ahead.
      std::uint64_t* word = &team.state().grid;
      constexpr std::uint64_t kRound = std::uint64_t{1} << 32;
      const std::uint64_t mine = block.rank() == 0 ? kRound - (block.grid_size() - 1) : 1;
      const std::uint64_t before = fetch_add(word, mine, Order::acq_rel, Scope::device);
      const std::uint64_t target = (before / kRound + 1) * kRound;
      const auto is_met = [&](std::uint64_t found) { return static_cast<std::int64_t>(found - target) >= 0; };
      if (!is_met(before + mine)) {
        detail::Patience patience(team);
        const auto look = [&] { return load(word, detail::order_of_polls(Order::acquire), Scope::device); };
        std::uint64_t found = look();
        while (!is_met(found) || !detail::settle(word, Cmp::ge, target, Order::acquire, Scope::device, found)) {
          if (!patience.go_on()) {
            patience.give_up({"grid_sync", site}, word, Cmp::ge, target, found, kNoPe);
            well = false;
            break;
          }
          found = look();
        }
      }
    }
  }
  return detail::told(team, block.broadcast(well));
}

}  // namespace isotope
