// Eager messages: they go into a slot of the receiver's before it asks for them.
//
// Each member counts its messages to each other one, apart from the rounds of other algorithms, and has two slots
// there: it waits for a receiver only when that one has not taken the message before the last. So a root may be two
// calls ahead of the others, and a call waits for nobody whose data it does not need.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/collective/direct.hpp"
#include "isotope/collective/stage.hpp"

namespace isotope::detail {

/// Message number `message` of this member's to `to`, at most a slot long. `data` may be overwritten once the group is
/// in step again.
template <Group G>
ISOTOPE_HD bool send_eagerly(const Stage<G>& on, int to, const char* data, std::size_t bytes, std::uint64_t message) {
  if (message > 2 && !await_post(on, on.channel.taken(to), message - 2, to)) return false;
  move(on, on.team.at(on.channel.slot(SlotKind::eager, message, on.me()), to), data, bytes);
  post(on, on.channel.arrived(on.me()), message, to);
  return true;
}

/// That of `from` to this member.
template <Group G>
ISOTOPE_HD bool take_eagerly(const Stage<G>& on, int from, char* dst, std::size_t bytes, std::uint64_t message) {
  if (!await_post(on, on.channel.arrived(from), message, from)) return false;
  move(on, dst, on.channel.slot(SlotKind::eager, message, from), bytes);
  post(on, on.channel.taken(on.me()), message, from);
  return true;
}

/// Calls step(begin, bytes, number) for each slotful of `bytes`, numbered from 1, while it returns true.
template <Group G, class Step>
ISOTOPE_HD bool in_slotfuls(const Stage<G>& on, std::size_t bytes, const Step& step) {
  const std::size_t most = on.channel.slot_bytes();
  std::uint64_t number = 0;
  for (std::size_t begin = 0; begin < bytes; begin += most) {
    if (!step(begin, bytes - begin < most ? bytes - begin : most, ++number)) return false;
  }
  return true;
}

/// How many it makes of them.
template <Group G>
ISOTOPE_HD std::uint64_t slotfuls_of(const Stage<G>& on, std::size_t bytes) {
  return (bytes + on.channel.slot_bytes() - 1) / on.channel.slot_bytes();
}

/// eager: the root sends to everyone and goes on.
template <Group G>
ISOTOPE_HD bool broadcast_eager(const Stage<G>& on, char* dst, const char* src, std::size_t bytes, int root) {
  on.group.sync();
  const bool sends = on.me() == root;
  const bool well = in_slotfuls(on, bytes, [&](std::size_t begin, std::size_t n, std::uint64_t number) {
    if (!sends) return take_eagerly(on, root, dst + begin, n, on.channel.counts(root)->taken + number);
    for (int k = 1; k < on.members(); ++k) {
      const int to = on.next(k);
      if (!send_eagerly(on, to, src + begin, n, on.channel.counts(to)->sent + number)) return false;
    }
    return true;
  });
  if (!well) return false;
  if (sends) move(on, dst, src, bytes);
  on.group.sync();  // all threads have read the counts
  if (on.group.is_leader()) {
    const std::uint64_t messages = slotfuls_of(on, bytes);
    if (!sends) on.channel.counts(root)->taken += messages;
    for (int k = 1; sends && k < on.members(); ++k) on.channel.counts(on.next(k))->sent += messages;
  }
  on.group.sync();
  return !on.team.stopped();
}

/// all-gather and all-to-all, eager: everyone sends to everyone, then takes.
template <Group G>
ISOTOPE_HD bool exchange_eager(const Stage<G>& on, bool gather, char* dst, const char* src, const Blocks& blocks) {
  on.group.sync();
  const auto source = [&](int k) { return gather ? src : src + blocks.begin(k); };
  const bool well = in_slotfuls(on, blocks.each, [&](std::size_t begin, std::size_t n, std::uint64_t number) {
    for (int k = 1; k < on.members(); ++k) {
      const int to = on.next(k);
      if (!send_eagerly(on, to, source(to) + begin, n, on.channel.counts(to)->sent + number)) return false;
    }
    move(on, dst + blocks.begin(on.me()) + begin, source(on.me()) + begin, n);
    for (int k = 1; k < on.members(); ++k) {
      const int from = on.previous(k);
      if (!take_eagerly(on, from, dst + blocks.begin(from) + begin, n, on.channel.counts(from)->taken + number))
        return false;
    }
    return true;
  });
  if (!well) return false;
  on.group.sync();
  if (on.group.is_leader()) {
    const std::uint64_t messages = slotfuls_of(on, blocks.each);
    for (int k = 1; k < on.members(); ++k) {
      PairCounts* counts = on.channel.counts(on.next(k));
      counts->sent += messages;
      counts->taken += messages;
    }
  }
  on.group.sync();
  return !on.team.stopped();
}

}  // namespace isotope::detail
