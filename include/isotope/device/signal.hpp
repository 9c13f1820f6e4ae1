// Signals and waits.
//
//   signal(block, team, &flags[3], 1, SignalOp::add, right);          // release: what the block wrote is seen first
//   if (!wait_until(block, team, &flags[3], Cmp::ge, round)) return;  // acquire; false: gave up
//
// A Signal is a 64-bit word in symmetric memory. Count up and wait with Cmp::ge; never reset. Waits and tests also take
// any 32- or 64-bit integer of symmetric memory that others change with atomics.
//
// Every call that takes a group is made by all of its threads, with the same arguments. Every wait ends: when it is
// met, when the job is aborted, or at ISOTOPE_WAIT_DEADLINE. A wait that gave up says so to every thread of the group,
// keeps a record that World::synchronize throws, and stops the team on this PE, so that the kernel drains and sends
// nothing built on data that never came. waits.hpp has the waits over several words.
#pragma once

#include <cstdint>
#include <type_traits>

#include "isotope/base/call_site.hpp"
#include "isotope/device/group.hpp"
#include "isotope/device/reach.hpp"
#include "isotope/device/team.hpp"
#include "isotope/device/wait.hpp"

namespace isotope {

struct Signal {
  std::uint64_t value;
};

/// What a wait can watch: a Signal, or a 32- or 64-bit integer.
template <class W>
concept WaitWord = std::same_as<W, Signal> || AtomicWord<W>;

namespace detail {
template <WaitWord W>
struct WaitValueOf {
  using type = W;
};
template <>
struct WaitValueOf<Signal> {
  using type = std::uint64_t;
};
}  // namespace detail

template <WaitWord W>
using WaitValue = typename detail::WaitValueOf<W>::type;

namespace detail {

template <WaitWord W>
ISOTOPE_HD const WaitValue<W>* value_of(const W* word) {
  if constexpr (std::same_as<W, Signal>) {
    return &word->value;
  } else {
    return word;
  }
}

template <WaitWord W>
ISOTOPE_HD bool words_are_good(const Team& team, Call call, const W* words, std::size_t count) {
  if constexpr (kCheckAddresses)
    return symmetric_is_good(team, call, "word", words, strided_bytes(count, 1, sizeof(W)), sizeof(W));
  return true;
}

ISOTOPE_HD bool sender_is_good(const Team& team, Call call, int from) {
  if constexpr (kCheckRanks) return from == kNoPe || rank_is_good(team, call, "from", from);
  return true;
}

/// The part of a signal that the group's leader does. `word` is the member's, `reach` the team's.
ISOTOPE_HD void deliver(Scope reach, std::uint64_t* word, std::uint64_t value, SignalOp op, Order order) {
  if (op == SignalOp::add) {
    add_to(reach, word, value, order);
  } else {
    store_to(reach, word, value, order);
  }
}

}  // namespace detail

/// Changes the Signal of member `to`. Order: everything the group wrote before (and put before, blocking) is visible to
/// whoever sees the new value with acquire; with Order::relaxed nothing is ordered. Completion: delivered when it is
/// seen. A stopped team sends nothing.
template <Group G>
ISOTOPE_HD void signal(G group, const Team& team, Signal* signal, std::uint64_t value, SignalOp op, int to,
                       Order order = Order::release, CallSite site = CallSite::current()) {
  group.sync();
  if (!group.is_leader() || team.stopped()) return;
  if (!detail::remote_is_good(team, {"signal", site}, "to", to, "signal", signal, sizeof(Signal), sizeof(Signal)))
    return;
  detail::deliver(team.reach(), &team.at(signal, to)->value, value, op, order);
}

/// This PE's word now. Called by one thread.
template <WaitWord W>
ISOTOPE_HD WaitValue<W> signal_fetch(const W* word, Order order = Order::acquire) {
  return load(detail::value_of(word), order);
}

/// Whether this PE's word compares so now. Called by one thread; does not wait.
template <WaitWord W>
ISOTOPE_HD bool test(const W* word, Cmp cmp, std::type_identity_t<WaitValue<W>> value, Order order = Order::acquire) {
  return detail::compare(signal_fetch(word, order), cmp, value);
}

/// Waits until this PE's word compares so. True: met, and with acquire (the default) what the signaller wrote before is
/// visible to the whole group. `from`, where the caller knows it, is named in the error.
template <Group G, WaitWord W>
ISOTOPE_HD bool wait_until(G group, const Team& team, const W* word, Cmp cmp, std::type_identity_t<WaitValue<W>> value,
                           Order order = Order::acquire, int from = kNoPe, CallSite site = CallSite::current()) {
  const detail::Call call{"wait_until", site};
  bool asks = !team.stopped();
  if (group.is_leader() && asks)
    asks = detail::words_are_good(team, call, word, 1) && detail::sender_is_good(team, call, from);
  detail::WordWait<WaitValue<W>> wait(detail::value_of(word), cmp, value, order);
  if constexpr (platform::kIsGpu && !detail::kCheckAddresses) {
    // A warp polls with all of its lanes at once, of which the first decides: lanes that went apart take long to come
    // together.
    if (detail::is_whole_warp(group) && platform::first_of_whole_warp(asks && wait.poll_at_first())) return true;
  }
  bool met = false;
  if (group.is_leader() && asks) {
    detail::Patience patience(team);
    met = wait.poll_at_first() || wait.go_on(patience, from == kNoPe ? kNoPe : team.world_rank(from), call);
  }
  // As told(), with a way out of its own for what is met: a compiler keeps what the caller knows in registers then.
  if (group.broadcast(met)) return true;
  team.mark_stopped();
  return false;
}

/// A Signal with its round counter, both on the device: a kernel that is launched (or replayed) again goes on counting,
/// since the round is no argument. One Epoch serves one group at a time.
class Epoch {
 public:
  Epoch() = default;
  ISOTOPE_HD Epoch(Signal* signal, std::uint64_t* rounds) : signal_(signal), rounds_(rounds) {}

  /// Begins the next round: 1, 2, 3, ... Every thread of the group gets the same number.
  template <Group G>
  ISOTOPE_HD std::uint64_t next(G group) const {
    std::uint64_t round = 0;
    if (group.is_leader()) round = ++*rounds_;
    return group.broadcast(round);
  }
  ISOTOPE_HD Signal* signal() const { return signal_; }

 private:
  Signal* signal_ = nullptr;
  std::uint64_t* rounds_ = nullptr;
};

}  // namespace isotope
