// Signals and waits.
//
//   signal(block, team, &flags[3], 1, SignalOp::add, right);             // release: what this block wrote before is
//   seen first if (!wait_until(block, team, &flags[3], Cmp::ge, round)) return;      // acquire; false: gave up, the
//   host will say why
//
// A Signal is a 64-bit word in symmetric memory. Count up and wait with Cmp::ge; never reset.
//
// Every call is made by all threads of its group. Every wait ends: when it is met, when the job is aborted, or at
// ISOTOPE_WAIT_DEADLINE. A wait that gave up returns false to every thread of the group, keeps a record that
// World::synchronize throws, and stops the team on this PE, so that the kernel drains and sends nothing built on data
// that never came.
#pragma once

#include <cstdint>

#include "isotope/base/call_site.hpp"
#include "isotope/device/group.hpp"
#include "isotope/device/team.hpp"

namespace isotope {

struct Signal {
  std::uint64_t value;
};

namespace detail {

ISOTOPE_HD bool compare(std::uint64_t found, Cmp cmp, std::uint64_t expected) {
  switch (cmp) {
    case Cmp::eq:
      return found == expected;
    case Cmp::ne:
      return found != expected;
    case Cmp::gt:
      return found > expected;
    case Cmp::ge:
      return found >= expected;
    case Cmp::lt:
      return found < expected;
    case Cmp::le:
      return found <= expected;
  }
  return false;
}

/// The part of a wait after its first failed poll, by one thread.
ISOTOPE_HD bool wait_slow(const Team& team, const Signal* signal, Cmp cmp, std::uint64_t expected, Order order,
                          int from, const char* call, CallSite site) {
  Control& control = *team.state().control;
  const std::uint64_t start = cpu::clock_ns();
  for (std::uint32_t polls = 1;; ++polls) {
    cpu::relax(polls);
    const std::uint64_t found = load(&signal->value, order);
    if (compare(found, cmp, expected)) return true;
    // The early polls are nanoseconds apart: look at abort and clock on some. Later ones have yielded or slept: look
    // each time.
    if (polls < 1024 && polls % 64 != 0) continue;
    const bool aborted = load(control.abort_word, Order::acquire) != 0;
    const std::uint64_t waited = cpu::clock_ns() - start;
    if (!aborted && waited < control.wait_deadline_ns && !team.stopped()) continue;
    FaultRecord fault;
    fault.aborted = aborted;
    fault.call = call;
    fault.site = site;
    fault.address = signal;
    fault.from = from;
    fault.cmp = static_cast<std::uint32_t>(cmp);
    fault.expected = expected;
    fault.found = found;
    fault.waited_ns = waited;
    // A team that another thread stopped has its record already.
    if (aborted || waited >= control.wait_deadline_ns) record_fault(control, fault);
    store(&team.state().stopped, 1u, Order::release);
    return false;
  }
}

}  // namespace detail

/// Changes the Signal of member `to`. Order: everything the group wrote before (and put before, blocking) is visible to
/// whoever sees the new value with acquire; with Order::relaxed nothing is ordered. Completion: delivered when it is
/// seen. A stopped team sends nothing.
template <Group G>
ISOTOPE_HD void signal(G group, const Team& team, Signal* signal, std::uint64_t value, SignalOp op, int to,
                       Order order = Order::release) {
  group.sync();
  if (!group.is_leader() || team.stopped()) return;
  std::uint64_t* word = &team.at(signal, to)->value;
  if (op == SignalOp::add) {
    fetch_add(word, value, order);
  } else {
    store(word, value, order);
  }
}

/// This PE's Signal now. Called by one thread.
ISOTOPE_HD std::uint64_t signal_fetch(const Signal* signal, Order order = Order::acquire) {
  return load(&signal->value, order);
}

/// Whether this PE's Signal compares so now. Does not wait.
ISOTOPE_HD bool test(const Signal* signal, Cmp cmp, std::uint64_t value, Order order = Order::acquire) {
  return detail::compare(load(&signal->value, order), cmp, value);
}

/// Waits until this PE's Signal compares so. True: met, and with acquire (the default) what the signaller wrote before
/// is visible to the whole group. `from`, where the caller knows it, is named in the error.
template <Group G>
ISOTOPE_HD bool wait_until(G group, const Team& team, const Signal* signal, Cmp cmp, std::uint64_t value,
                           Order order = Order::acquire, int from = kNoPe, CallSite site = CallSite::current()) {
  bool met = false;
  if (group.is_leader() && !team.stopped()) {
    met = test(signal, cmp, value, order) ||
          detail::wait_slow(team, signal, cmp, value, order, from == kNoPe ? kNoPe : team.world_rank(from),
                            "wait_until", site);
  }
  return group.broadcast(met);
}

/// A Signal with its round counter, both on the device: a kernel that is launched (or replayed) again goes on counting,
/// since the round is no argument. One Epoch serves one group at a time.
class Epoch {
 public:
  Epoch() = default;
  Epoch(Signal* signal, std::uint64_t* rounds) : signal_(signal), rounds_(rounds) {}

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
