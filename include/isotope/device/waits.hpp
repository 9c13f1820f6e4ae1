// Waits and tests over several words at once: all of them, any one, or some.
//
//   wait_until_all(block, team, &flags[0], n, Cmp::ge, round);
//   std::size_t i = wait_until_any(block, team, &flags[0], n, Cmp::ge, round, done);     // done[i] != 0: skip word i
//   std::size_t k = wait_until_some(block, team, &flags[0], n, indices, Cmp::ge, round, done);
//
// Each has a form whose name ends in _vector and that takes one value per word, and a test_ form that does not wait.
// `status` may be null; a word whose status is not 0 is passed over. All threads of the group call, with the same
// arguments; `words`, `values`, `status` and `indices` are this PE's own. Words are acquired by default: what was
// written before the signals that were seen is visible to the whole group. A wait gives up as in signal.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/device/group.hpp"
#include "isotope/device/signal.hpp"
#include "isotope/device/team.hpp"
#include "isotope/device/wait.hpp"

namespace isotope {

/// What wait_until_any and test_any return for "none": nothing is met yet, every word is passed over, or the wait gave
/// up (then team.stopped()).
inline constexpr std::size_t kNoIndex = ~std::size_t{0};

namespace detail {

/// Several words and what is expected of each.
template <WaitWord W>
struct Words {
  const W* words;
  std::size_t count;
  const int* status;
  Cmp cmp;
  WaitValue<W> value;          // of every word, or
  const WaitValue<W>* values;  // of each
  Order order;

  ISOTOPE_HD bool counts(std::size_t i) const { return status == nullptr || status[i] == 0; }
  ISOTOPE_HD WaitValue<W> expected(std::size_t i) const { return values == nullptr ? value : values[i]; }
  ISOTOPE_HD bool met(std::size_t i) const { return test(&words[i], cmp, expected(i), order); }

  /// The first that is met, or kNoIndex. `waiting`: whether any word counts.
  ISOTOPE_HD std::size_t first_met(bool* waiting) const {
    *waiting = false;
    for (std::size_t i = 0; i < count; ++i) {
      if (!counts(i)) continue;
      *waiting = true;
      if (met(i)) return i;
    }
    return kNoIndex;
  }
  ISOTOPE_HD std::size_t collect_met(std::size_t* indices, bool* waiting) const {
    *waiting = false;
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!counts(i)) continue;
      *waiting = true;
      if (met(i)) indices[found++] = i;
    }
    return found;
  }
  /// Says which word the wait was for: the first that counts.
  ISOTOPE_HD void give_up(const Patience& patience, Call call) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (!counts(i)) continue;
      patience.give_up(call, value_of(&words[i]), cmp, expected(i), signal_fetch(&words[i], Order::relaxed), kNoPe);
      return;
    }
  }
};

template <Group G, WaitWord W>
ISOTOPE_HD bool wait_all(G group, const Team& team, const Words<W>& words, Call call) {
  bool well = !team.stopped();
  const Share share = share_of(group);
  if (well && group.is_leader()) well = words_are_good(team, call, words.words, words.count);
  Patience patience(team);
  for (std::size_t i = share.first; well && i < words.count; i += share.step) {
    if (!words.counts(i)) continue;
    well = wait_for_word(patience, value_of(&words.words[i]), words.cmp, words.expected(i), words.order, kNoPe, call);
  }
  return told(team, agree(group, well));
}

template <Group G, WaitWord W>
ISOTOPE_HD std::size_t wait_any(G group, const Team& team, const Words<W>& words, Call call) {
  std::size_t found = kNoIndex;
  bool well = !team.stopped();
  if (well && group.is_leader()) {
    well = words_are_good(team, call, words.words, words.count);
    Patience patience(team);
    for (bool waiting = true; well && waiting;) {
      found = words.first_met(&waiting);
      if (found != kNoIndex) break;
      if (waiting && !patience.go_on()) {
        words.give_up(patience, call);
        well = false;
      }
    }
  }
  told(team, group.broadcast(well));
  return group.broadcast(found);
}

template <Group G, WaitWord W>
ISOTOPE_HD std::size_t wait_some(G group, const Team& team, const Words<W>& words, std::size_t* indices, Call call) {
  std::size_t found = 0;
  bool well = !team.stopped();
  if (well && group.is_leader()) {
    well = words_are_good(team, call, words.words, words.count);
    Patience patience(team);
    for (bool waiting = true; well && waiting;) {
      found = words.collect_met(indices, &waiting);
      if (found != 0) break;
      if (waiting && !patience.go_on()) {
        words.give_up(patience, call);
        well = false;
      }
    }
  }
  told(team, group.broadcast(well));
  return group.broadcast(found);
}

template <WaitWord W>
ISOTOPE_HD bool all_met(const Words<W>& words) {
  for (std::size_t i = 0; i < words.count; ++i) {
    if (words.counts(i) && !words.met(i)) return false;
  }
  return true;
}

}  // namespace detail

// Both forms of each call: one value for all words, or one each.
#define ISOTOPE_WAITS(suffix, Parameter, value, values)                                                                \
  /** True: every word that counts is met. With none that counts, at once. */                                          \
  template <Group G, WaitWord W>                                                                                       \
  ISOTOPE_HD bool wait_until_all##suffix(G group, const Team& team, const W* words, std::size_t count, Cmp cmp,        \
                                         Parameter expected, const int* status = nullptr,                              \
                                         Order order = Order::acquire, CallSite site = CallSite::current()) {          \
    return detail::wait_all(group, team, detail::Words<W>{words, count, status, cmp, value, values, order},            \
                            {"wait_until_all" #suffix, site});                                                         \
  }                                                                                                                    \
  /** The index of a word that is met, or kNoIndex. */                                                                 \
  template <Group G, WaitWord W>                                                                                       \
  ISOTOPE_HD std::size_t wait_until_any##suffix(G group, const Team& team, const W* words, std::size_t count, Cmp cmp, \
                                                Parameter expected, const int* status = nullptr,                       \
                                                Order order = Order::acquire, CallSite site = CallSite::current()) {   \
    return detail::wait_any(group, team, detail::Words<W>{words, count, status, cmp, value, values, order},            \
                            {"wait_until_any" #suffix, site});                                                         \
  }                                                                                                                    \
  /** How many are met, at least one; their indices are in indices[0], [1], ... 0: none counts, or gave up. */         \
  template <Group G, WaitWord W>                                                                                       \
  ISOTOPE_HD std::size_t wait_until_some##suffix(                                                                      \
      G group, const Team& team, const W* words, std::size_t count, std::size_t* indices, Cmp cmp, Parameter expected, \
      const int* status = nullptr, Order order = Order::acquire, CallSite site = CallSite::current()) {                \
    return detail::wait_some(group, team, detail::Words<W>{words, count, status, cmp, value, values, order}, indices,  \
                             {"wait_until_some" #suffix, site});                                                       \
  }                                                                                                                    \
  /** By one thread, without waiting: the same answers, for now. */                                                    \
  template <WaitWord W>                                                                                                \
  ISOTOPE_HD bool test_all##suffix(const W* words, std::size_t count, Cmp cmp, Parameter expected,                     \
                                   const int* status = nullptr, Order order = Order::acquire) {                        \
    return detail::all_met(detail::Words<W>{words, count, status, cmp, value, values, order});                         \
  }                                                                                                                    \
  template <WaitWord W>                                                                                                \
  ISOTOPE_HD std::size_t test_any##suffix(const W* words, std::size_t count, Cmp cmp, Parameter expected,              \
                                          const int* status = nullptr, Order order = Order::acquire) {                 \
    bool waiting = false;                                                                                              \
    return detail::Words<W>{words, count, status, cmp, value, values, order}.first_met(&waiting);                      \
  }                                                                                                                    \
  template <WaitWord W>                                                                                                \
  ISOTOPE_HD std::size_t test_some##suffix(const W* words, std::size_t count, std::size_t* indices, Cmp cmp,           \
                                           Parameter expected, const int* status = nullptr,                            \
                                           Order order = Order::acquire) {                                             \
    bool waiting = false;                                                                                              \
    return detail::Words<W>{words, count, status, cmp, value, values, order}.collect_met(indices, &waiting);           \
  }
ISOTOPE_WAITS(, std::type_identity_t<WaitValue<W>>, expected, nullptr)
ISOTOPE_WAITS(_vector, const std::type_identity_t<WaitValue<W>>*, {}, expected)
#undef ISOTOPE_WAITS

}  // namespace isotope
