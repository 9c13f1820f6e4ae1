// How a wait waits, and how it ends: shared by signal.hpp and sync.hpp.
#pragma once

#include <cstdint>
#include <type_traits>

#include "isotope/device/check.hpp"
#include "isotope/device/team.hpp"

namespace isotope::detail {

template <class T>
ISOTOPE_HD constexpr bool compare(T found, Cmp cmp, T expected) {
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

/// Leaves word of a wait that has ended in vain. `from` is the World's rank it was to come from.
ISOTOPE_COLD void record_wait(TeamState& team, Call call, Fault why, const void* what, Cmp cmp, std::uint64_t expected,
                              std::uint64_t found, bool is_signed, int from, std::uint64_t waited_ns) {
  FaultRecord fault;
  fault.fault = why;
  fault.call = call.name;
  fault.site = call.site;
  fault.address = what;
  fault.from = from;
  fault.cmp = static_cast<std::uint32_t>(cmp);
  fault.expected = expected;
  fault.found = found;
  fault.is_signed = is_signed ? 1 : 0;
  fault.waited_ns = waited_ns;
  record_fault(team, fault);
}

/// The patience of one wait by one thread: pauses between polls, and knows when to give up.
class Patience {
 public:
  ISOTOPE_HD explicit Patience(const Team& team) : team_(&team.state()) {}

  /// After a poll that failed. False: the wait has to end, because of the job's end, the deadline, or a team that
  /// another thread stopped.
  ISOTOPE_HD bool go_on() {
    if constexpr (platform::kWaitsBlock) {
      platform::relax(++polls_);
      return true;
    }
    // What comes within nanoseconds is not worth a look at the clock.
    if (++polls_ <= kEagerPolls) return true;
    if (start_ == 0) start_ = platform::clock_ns();
    platform::relax(polls_ - kEagerPolls);
    // The early polls are nanoseconds apart: look at abort and clock on some. Later ones have yielded or slept: look
    // each time.
    if (polls_ < 1024 && polls_ % 64 != 0) return true;
    const Control& control = *team_->control;
    aborted_ = load(control.abort_word, Order::acquire) != 0;
    waited_ = platform::clock_ns() - start_;
    late_ = waited_ >= control.wait_deadline_ns;
    return !aborted_ && !late_ && load(&team_->stopped) == 0;
  }

  /// What it waited for has come, and the same call waits for more: polls are eager again, the deadline stays.
  ISOTOPE_HD void met() { polls_ = 0; }

  template <class W>
  ISOTOPE_HD void give_up(Call call, const W* what, Cmp cmp, W expected, W found, int from) const {
    // A team that another thread stopped has its record already.
    if (aborted_ || late_)
      record_wait(*team_, call, aborted_ ? Fault::aborted : Fault::deadline, what, cmp,
                  static_cast<std::uint64_t>(expected), static_cast<std::uint64_t>(found), std::is_signed_v<W>, from,
                  waited_);
  }

 private:
  static constexpr std::uint32_t kEagerPolls = 16;

  TeamState* team_;
  std::uint32_t polls_ = 0;
  bool aborted_ = false, late_ = false;
  std::uint64_t start_ = 0, waited_ = 0;
};

/// The end of a group's wait, in every thread: one that was not met stops the team.
ISOTOPE_HD bool told(const Team& team, bool met) {
  if (!met) team.mark_stopped();
  return met;
}

/// Whether polls are relaxed, and the order comes once one is met: on a GPU a load that acquires throws the nearest
/// cache away, met or not. Sequential consistency is asked for by each look.
ISOTOPE_HD constexpr bool polls_relaxed(Order order) {
  return platform::kIsGpu && order != Order::relaxed && order != Order::seq_cst;
}

ISOTOPE_HD constexpr Order order_of_polls(Order order) { return polls_relaxed(order) ? Order::relaxed : order; }

/// After a poll that is met: gives it the order that was asked for. False: it is met no longer.
template <class W>
ISOTOPE_HD bool settle(const W* word, Cmp cmp, W expected, Order order, Scope scope, W& found) {
  if (!polls_relaxed(order)) return true;
  if constexpr (platform::kFencesWhenMet) {
    fence(Order::acquire, scope);
    return true;
  } else {
    // The same look again, with the order: what it sees may have come later still.
    found = load(word, order, scope);
    return compare(found, cmp, expected);
  }
}

/// Polls of a GPU's thread before it looks at anything else: some microseconds. Those in a row are not even counted.
inline constexpr int kFirstPolls = 32, kPollsInRow = 4;

/// A wait by one thread for one word, in two steps: what is on its way is met by the first polls, and only what is not
/// needs patience.
template <class W>
class WordWait {
 public:
  ISOTOPE_HD WordWait(const W* word, Cmp cmp, W expected, Order order)
      : word_(word), cmp_(cmp), expected_(expected), order_(order) {}

  ISOTOPE_HD bool poll_at_first() {
    if constexpr (platform::kIsGpu) {
      // Most of what a kernel waits for is on its way: nothing between these polls, whose distance is part of every
      // latency.
      ISOTOPE_GPU_ROLLED
      for (int poll = 0; poll < kFirstPolls; poll += kPollsInRow) {
        ISOTOPE_GPU_UNROLL
        for (int one = 0; one < kPollsInRow; ++one)
          if (is_met()) return true;
      }
      return false;
    } else {
      return is_met();
    }
  }

  /// With the patience of its call. `from` is the World's rank that is named in the error, or kNoPe.
  ISOTOPE_HD bool go_on(Patience& patience, int from, Call call) {
    platform::begin_wait(word_, sizeof(W), cmp_, static_cast<std::uint64_t>(expected_), from, call.name, call.site);
    while (patience.go_on()) {
      if (!is_met()) continue;
      patience.met();
      platform::end_wait();
      return true;
    }
    patience.give_up(call, word_, cmp_, expected_, found_, from);
    return false;
  }

 private:
  ISOTOPE_HD bool is_met() {
    found_ = load(word_, order_of_polls(order_));
    if (!compare(found_, cmp_, expected_)) return false;
    return settle(word_, cmp_, expected_, order_, Scope::system, found_);
  }

  const W* word_;
  Cmp cmp_;
  W expected_;
  Order order_;
  W found_{};
};

/// Waits for one word, by one thread, with the patience of its call.
template <class W>
ISOTOPE_HD bool wait_for_word(Patience& patience, const W* word, Cmp cmp, W expected, Order order, int from,
                              Call call) {
  WordWait<W> wait(word, cmp, expected, order);
  return wait.poll_at_first() || wait.go_on(patience, from, call);
}

}  // namespace isotope::detail
