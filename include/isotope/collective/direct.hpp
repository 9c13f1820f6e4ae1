// Algorithms that read and write the members' buffers in place: a meeting, loads and stores, a meeting.
//
// The first meeting says that every member's input is ready and its output may be written; the last one, that all of it
// was. Each element of the output is made by one member, so all members get the same bits.
#pragma once

#include <cstddef>

#include "isotope/collective/fold.hpp"
#include "isotope/collective/stage.hpp"

namespace isotope::detail {

/// Parts begin at multiples of this, so that members do not share cache lines and words stay wide.
template <class R>
ISOTOPE_HD std::size_t part_unit(const R& r) {
  return 128 / r.element();
}

/// two_shot: each member reduces its part and gives it to everyone.
template <Group G, class R>
ISOTOPE_HD bool all_reduce_two_shot(const Stage<G>& on, const R& r, char* dst, const char* src, std::size_t count) {
  if (!meet_first(on)) return false;
  const Slice mine = slice_of(count, on.me(), on.members(), part_unit(r));
  const std::size_t at = mine.begin * r.element();
  fold(
      on.workers(), r, on.members(), [&](int k) { return on.team.at(src + at, k); }, on.members(),
      // From this PE on, so that members do not all write to the same one.
      [&](int k) { return on.team.at(dst + at, on.next(k)); }, mine.count, on.members());
  return meet_last(on);
}

/// one_shot: each member gets everyone's data in slots of its own, and reduces all of it.
template <Group G, class R>
ISOTOPE_HD bool all_reduce_one_shot(const Stage<G>& on, const R& r, char* dst, const char* src, std::size_t count) {
  const std::size_t most = on.channel.slot_bytes() / r.element();
  std::uint64_t* counter = &on.channel.words()->rounds;
  for (std::size_t begin = 0; begin < count; begin += most) {
    const std::size_t n = count - begin < most ? count - begin : most, at = begin * r.element();
    const std::uint64_t round = begin_round(on, counter, begin == 0);
    if (on.team.stopped()) return false;
    char* slot = on.channel.slot(SlotKind::plain, round, on.me());
    for (int k = 1; k < on.members(); ++k) move(on, on.team.at(slot, on.next(k)), src + at, n * r.element());
    on.group.sync();
    const Share share = share_of(on.group);
    const auto others = static_cast<std::uint32_t>(on.members() - 1);
    for (std::uint32_t k = share.first; k < others; k += share.step)
      store_to(on.team.reach(), on.team.at(on.channel.flag(on.me()), on.next(static_cast<int>(k) + 1)), round,
               Order::release);
    bool well = true;
    Patience patience(on.team);
    for (std::uint32_t k = share.first; well && k < others; k += share.step) {
      const int from = on.next(static_cast<int>(k) + 1);
      well = wait_for_word(patience, on.channel.flag(from), Cmp::ge, round, Order::acquire, on.team.world_rank(from),
                           on.call);
    }
    if (!told(on.team, agree(on.group, well))) return false;
    fold(
        on.workers(), r, on.members(),
        [&](int k) { return k == on.me() ? src + at : on.channel.slot(SlotKind::plain, round, k); }, kOneOutput,
        [&](int) { return dst + at; }, n, on.members());
    end_round(on, counter, round);
  }
  on.group.sync();
  return true;
}

/// Each member reduces a part for the root; with `alone` the root reduces everything.
template <Group G, class R>
ISOTOPE_HD bool reduce_direct(const Stage<G>& on, const R& r, char* dst, const char* src, std::size_t count, int root,
                              bool alone) {
  if (!meet_first(on)) return false;
  const Slice mine =
      alone ? Slice{0, on.me() == root ? count : 0} : slice_of(count, on.me(), on.members(), part_unit(r));
  const std::size_t at = mine.begin * r.element();
  fold(
      on.workers(), r, on.members(), [&](int k) { return on.team.at(src + at, k); }, kOneOutput,
      [&](int) { return on.team.at(dst + at, root); }, mine.count, on.members());
  return meet_last(on);
}

/// Blocks of an array, one per member: `each` elements (or bytes) of every `stride`.
struct Blocks {
  std::size_t each, stride;
  ISOTOPE_HD std::size_t begin(int member) const { return static_cast<std::size_t>(member) * stride; }
};

/// pull: each member reduces its own block of everyone's input, from its own input on: the order of landed.hpp.
template <Group G, class R>
ISOTOPE_HD bool reduce_scatter_pull(const Stage<G>& on, const R& r, char* dst, const char* src, const Blocks& blocks) {
  if (!meet_first(on)) return false;
  const char* mine = src + blocks.begin(on.me()) * r.element();
  fold(
      on.workers(), r, on.members(), [&](int k) { return on.team.at(mine, on.next(k)); }, kOneOutput,
      [&](int) { return dst; }, blocks.each, on.members());
  return meet_last(on);
}

/// Each member scans its part through all members in rank order, and writes each one's result.
template <Group G, class R>
ISOTOPE_HD bool scan_direct(const Stage<G>& on, const R& r, char* dst, const char* src, std::size_t count,
                            bool inclusive) {
  if (!meet_first(on)) return false;
  const Slice part = slice_of(count, on.me(), on.members(), part_unit(r));
  const Slice mine =
      slice_of(part.count, static_cast<int>(on.group.thread_rank()), static_cast<int>(on.group.size()), 1);
  const std::size_t most = kPartialBlock / r.partial(), end = part.begin + mine.begin + mine.count;
  for (std::size_t at = part.begin + mine.begin; at < end; at += most) {
    const std::size_t n = end - at < most ? end - at : most, offset = at * r.element(), bytes = n * r.element();
    alignas(64) char partials[kPartialBlock], result[kPartialBlock], input[kPartialBlock];
    r.identity(result, n);
    for (int k = 0; k < on.members(); ++k) {
      std::memcpy(input, on.team.at(src + offset, k), bytes);  // before the output, which may be the same place
      if (!inclusive) std::memcpy(on.team.at(dst + offset, k), result, bytes);
      if (k == 0) {
        r.widen(partials, input, n);
      } else {
        r.more(partials, input, n);
      }
      r.finish(result, partials, n, 1);
      if (inclusive) std::memcpy(on.team.at(dst + offset, k), result, bytes);
    }
  }
  return meet_last(on);
}

/// Of a copy by one thread to all members.
inline constexpr std::size_t kPieceForAll = std::size_t{64} << 10;

/// push: each member gives its block to everyone.
template <Group G>
ISOTOPE_HD bool all_gather_push(const Stage<G>& on, char* dst, const char* src, const Blocks& blocks) {
  if (!meet_first(on)) return false;
  char* place = dst + blocks.begin(on.me());
  const std::size_t in_all = blocks.each * static_cast<std::size_t>(on.members());
  // By pieces that stay in the nearest cache, so that what goes to several members is read once; the last member is
  // this one, whose own copy may be the same place.
  const std::size_t piece = platform::kIsGpu || on.group.size() > 1 ? blocks.each : kPieceForAll;
  for (std::size_t at = 0; at < blocks.each; at += piece) {
    const std::size_t n = blocks.each - at < piece ? blocks.each - at : piece;
    for (int k = 1; k <= on.members(); ++k) move(on, on.team.at(place + at, on.next(k)), src + at, n, in_all);
  }
  return meet_last(on);
}

/// pull: each member gets everyone's block.
template <Group G>
ISOTOPE_HD bool all_gather_pull(const Stage<G>& on, char* dst, const char* src, const Blocks& blocks) {
  if (!meet_first(on)) return false;
  // In place, each member's src is where its block lies in dst.
  const bool in_place = src == dst + blocks.begin(on.me());
  const std::size_t in_all = blocks.each * static_cast<std::size_t>(on.members());
  for (int k = 0; k < on.members(); ++k) {
    const int from = on.next(k);
    char* place = dst + blocks.begin(from);
    move(on, place, on.team.at(in_place ? place : src, from), blocks.each, in_all);
  }
  return meet_last(on);
}

/// The members as rows of this many: the divisor of their number nearest to its root.
ISOTOPE_HD int row_length(int members) {
  int length = 1;
  for (int d = 1; d * d <= members; ++d)
    if (members % d == 0) length = members / d;
  return length;
}

/// push_2d: to the members of the own row, then each passes the row's blocks on along its column.
template <Group G>
ISOTOPE_HD bool all_gather_push_2d(const Stage<G>& on, char* dst, const char* src, const Blocks& blocks) {
  if (!meet_first(on)) return false;
  const int length = row_length(on.members()), rows = on.members() / length;
  const int row = on.me() / length, column = on.me() % length;
  char* place = dst + blocks.begin(on.me());
  for (int x = 0; x < length; ++x) move(on, on.team.at(place, row * length + (column + x) % length), src, blocks.each);
  if (!meet(on)) return false;
  for (int y = 1; y < rows; ++y) {
    const int to = (row + y) % rows * length + column;
    for (int x = 0; x < length; ++x) {
      char* block = dst + blocks.begin(row * length + x);
      move(on, on.team.at(block, to), block, blocks.each);
    }
  }
  return meet_last(on);
}

/// direct: block k of each member's input to member k.
template <Group G>
ISOTOPE_HD bool all_to_all_direct(const Stage<G>& on, char* dst, const char* src, const Blocks& blocks) {
  if (!meet_first(on)) return false;
  char* place = dst + blocks.begin(on.me());
  const std::size_t in_all = blocks.each * static_cast<std::size_t>(on.members());
  for (int k = 0; k < on.members(); ++k) {
    const int to = on.next(k);
    move(on, on.team.at(place, to), src + blocks.begin(to), blocks.each, in_all);
  }
  return meet_last(on);
}

/// flat: everyone reads from the root.
template <Group G>
ISOTOPE_HD bool broadcast_flat(const Stage<G>& on, char* dst, const char* src, std::size_t bytes, int root) {
  if (!meet_first(on)) return false;
  move(on, dst, on.team.at(src, root), bytes);
  return meet_last(on);
}

}  // namespace isotope::detail
