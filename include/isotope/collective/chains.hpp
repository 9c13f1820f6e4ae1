// Algorithms that pass data along from member to member: ring, trees, pipelines.
//
// Messages of one call are numbered by the channel's rounds. Members do not hear from everyone in each of them, so such
// a call ends with a meeting: after it nobody is behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "isotope/collective/direct.hpp"
#include "isotope/collective/fold.hpp"
#include "isotope/collective/stage.hpp"

namespace isotope::detail {

/// Calls step(begin, count) for this thread's part of `count` elements, by blocks of at most `most`.
template <Group G, class Step>
ISOTOPE_HD void blocks_of(G group, std::size_t count, std::size_t most, Step step) {
  const Slice mine = slice_of(count, static_cast<int>(group.thread_rank()), static_cast<int>(group.size()), 16);
  for (std::size_t at = mine.begin; at < mine.begin + mine.count; at += most) {
    const std::size_t left = mine.begin + mine.count - at;
    step(at, left < most ? left : most);
  }
}

/// Own elements joined with up to two arrays of partials, into partials for another member or into finished elements.
template <Group G, class R>
ISOTOPE_HD void join_arrays(G group, const R& r, const char* own, const char* a, const char* b, char* partials_out,
                            char* elements_out, std::size_t count, int members) {
  blocks_of(group, count, kPartialBlock / r.partial(), [&](std::size_t at, std::size_t n) {
    alignas(64) char partials[kPartialBlock];
    r.widen(partials, own + at * r.element(), n);
    if (a != nullptr) r.join(partials, a + at * r.partial(), n);
    if (b != nullptr) r.join(partials, b + at * r.partial(), n);
    if (partials_out != nullptr) std::memcpy(partials_out + at * r.partial(), partials, n * r.partial());
    if (elements_out != nullptr) r.finish(elements_out + at * r.element(), partials, n, members);
  });
}

/// The segments of a ring: the parts of one array, or the blocks of a reduce-scatter.
struct Segments {
  std::size_t count;  // elements of all
  Blocks blocks;      // of 0 elements: nearly equal parts of `count` instead
  std::size_t unit;

  ISOTOPE_HD Slice segment(int index, int members) const {
    if (blocks.each != 0) return {blocks.begin(index), blocks.each};
    return slice_of(count, index, members, unit);
  }
};

/// Segment s travels from member s + 1 around to member s, which keeps it: sums pass as partials through slots.
/// keep(begin, n, partials or null): this PE's segment, elements [begin, begin + n), is `own` joined with the partials.
template <Group G, class R, class Keep>
ISOTOPE_HD bool ring_reduce(const Stage<G>& on, const R& r, const char* src, const Segments& segments, Keep keep) {
  const int members = on.members(), right = on.next(), left = on.previous();
  const std::size_t most = on.channel.slot_bytes() / r.partial();
  const std::size_t longest = segments.segment(0, members).count;
  std::uint64_t* counter = &on.channel.words()->rounds;
  std::uint64_t round = begin_round(on, counter, false) - 1;
  const std::uint64_t first = round + 1;
  // This PE is past all earlier rounds. Its left neighbour, which need not have heard from it in the last of them, may
  // not use that one's slot before it knows.
  post(on, on.channel.reply(on.me()), round, left);
  for (std::size_t piece = 0; piece < longest; piece += most) {
    const auto part = [&](int segment) {
      const Slice whole = segments.segment(segment, members);
      const std::size_t from = piece < whole.count ? piece : whole.count;
      return Slice{whole.begin + from, whole.count - from < most ? whole.count - from : most};
    };
    const char* arrived = nullptr;
    for (int step = 0; step + 1 < members; ++step) {
      const Slice now = part((on.me() + 2 * members - 1 - step) % members);
      ++round;
      // The slot was used two messages ago: the neighbour has to have taken that one.
      if (round >= first + 1 && !await_post(on, on.channel.reply(right), round - 2, right)) return false;
      char* slot = on.team.at(on.channel.slot(SlotKind::plain, round, on.me()), right);
      if (!on.team.stopped())
        join_arrays(on.group, r, src + now.begin * r.element(), arrived, nullptr, slot, nullptr, now.count, members);
      post(on, on.channel.flag(on.me()), round, right);
      if (arrived != nullptr) post(on, on.channel.reply(on.me()), round - 1, left);
      if (!await_post(on, on.channel.flag(left), round, left)) return false;
      arrived = on.channel.slot(SlotKind::plain, round, left);
    }
    const Slice last = part(on.me());
    keep(last.begin, last.count, arrived);
    if (arrived != nullptr) post(on, on.channel.reply(on.me()), round, left);
  }
  end_round(on, counter, round);
  return !on.team.stopped();
}

template <Group G, class R>
ISOTOPE_HD bool reduce_scatter_ring(const Stage<G>& on, const R& r, char* dst, const char* src, const Blocks& blocks) {
  const std::size_t mine = blocks.begin(on.me());
  const bool well = blocks.each == 0 ||
                    ring_reduce(on, r, src, {0, blocks, 1}, [&](std::size_t begin, std::size_t n, const char* sums) {
                      join_arrays(on.group, r, src + begin * r.element(), sums, nullptr, nullptr,
                                  dst + (begin - mine) * r.element(), n, on.members());
                    });
  return well && meet(on);
}

/// ring: reduced around the ring, then each finished segment goes around once more.
template <Group G, class R>
ISOTOPE_HD bool all_reduce_ring(const Stage<G>& on, const R& r, char* dst, const char* src, std::size_t count) {
  const int members = on.members(), right = on.next(), left = on.previous();
  const Segments segments{count, {0, 0}, part_unit(r)};
  const bool well = ring_reduce(on, r, src, segments, [&](std::size_t begin, std::size_t n, const char* sums) {
    join_arrays(on.group, r, src + begin * r.element(), sums, nullptr, nullptr, dst + begin * r.element(), n, members);
  });
  if (!well) return false;
  // Everyone has come by now: what arrived here was made of everyone's elements. Outputs may be written.
  std::uint64_t* counter = &on.channel.words()->rounds;
  std::uint64_t round = begin_round(on, counter, false) - 1;
  for (int step = 0; step + 1 < members; ++step) {
    const Slice now = segments.segment((on.me() + members - step) % members, members);
    char* place = dst + now.begin * r.element();
    ++round;
    if (!on.team.stopped()) move(on, on.team.at(place, right), place, now.count * r.element());
    post(on, on.channel.flag(on.me()), round, right);
    if (!await_post(on, on.channel.flag(left), round, left)) return false;
  }
  end_round(on, counter, round);
  return meet(on);
}

/// A binary tree over the members: that of a heap, or its mirror image, whose inner members are the other one's leaves.
struct Tree {
  int me, members;
  bool mirrored;

  ISOTOPE_HD int place() const { return mirrored ? members - 1 - me : me; }
  /// The member at a place, or kNoPe.
  ISOTOPE_HD int member(int at) const { return at >= members ? kNoPe : mirrored ? members - 1 - at : at; }
  ISOTOPE_HD int parent() const { return place() == 0 ? kNoPe : member((place() - 1) / 2); }
  ISOTOPE_HD int child(int which) const { return member(2 * place() + 1 + which); }
};

/// double_tree: half of the data over each of two trees, up as partials and down as results, piece by piece. A member
/// is another's parent in one of the trees at most, so flags carry what goes up and replies what comes down.
template <Group G, class R>
ISOTOPE_HD bool all_reduce_double_tree(const Stage<G>& on, const R& r, char* dst, const char* src, std::size_t count) {
  const std::size_t most = on.channel.slot_bytes() / r.partial();
  const std::size_t half = slice_of(count, 0, 2, part_unit(r)).count;
  std::uint64_t* counter = &on.channel.words()->rounds;
  std::uint64_t round = begin_round(on, counter, false) - 1;
  const auto piece_of = [&](bool second, std::size_t piece) {
    const std::size_t begin = second ? half : 0, size = second ? count - half : half;
    const std::size_t from = piece < size ? piece : size;
    return Slice{begin + from, size - from < most ? size - from : most};
  };
  for (std::size_t piece = 0; piece < half; piece += most) {
    ++round;
    for (const bool second : {false, true}) {
      const Tree tree{on.me(), on.members(), second};
      const Slice now = piece_of(second, piece);
      const char* sums[2] = {nullptr, nullptr};
      for (int c = 0; c < 2; ++c) {
        const int child = tree.child(c);
        if (child == kNoPe) continue;
        if (!await_post(on, on.channel.flag(child), round, child)) return false;
        sums[c] = on.channel.slot(SlotKind::plain, round, child);
      }
      const int parent = tree.parent();
      const char* own = src + now.begin * r.element();
      if (parent == kNoPe) {
        join_arrays(on.group, r, own, sums[0], sums[1], nullptr, dst + now.begin * r.element(), now.count,
                    on.members());
      } else {
        char* slot = on.team.at(on.channel.slot(SlotKind::plain, round, on.me()), parent);
        if (!on.team.stopped()) join_arrays(on.group, r, own, sums[0], sums[1], slot, nullptr, now.count, on.members());
        post(on, on.channel.flag(on.me()), round, parent);
      }
    }
    for (const bool second : {false, true}) {
      const Tree tree{on.me(), on.members(), second};
      const Slice now = piece_of(second, piece);
      const int parent = tree.parent();
      // A result that has come down says that the sums went up: their slot may be filled again.
      if (parent != kNoPe && !await_post(on, on.channel.reply(parent), round, parent)) return false;
      on.group.sync();
      char* place = dst + now.begin * r.element();
      for (int c = 0; c < 2; ++c) {
        const int child = tree.child(c);
        if (child == kNoPe) continue;
        if (!on.team.stopped()) move(on, on.team.at(place, child), place, now.count * r.element());
        post(on, on.channel.reply(on.me()), round, child);
      }
    }
  }
  end_round(on, counter, round);
  return meet(on);
}

/// tree and pipelined: from the root down a tree of `arity` children, piece by piece.
template <Group G>
ISOTOPE_HD bool broadcast_down(const Stage<G>& on, char* dst, const char* src, std::size_t bytes, int root, int arity,
                               std::size_t piece_bytes) {
  if (!meet(on)) return false;
  const int members = on.members(), place = (on.me() + members - root) % members;
  const int parent = place == 0 ? kNoPe : ((place - 1) / arity + root) % members;
  const char* from = place == 0 ? src : dst;
  std::uint64_t* counter = &on.channel.words()->rounds;
  std::uint64_t round = begin_round(on, counter, false) - 1;
  for (std::size_t at = 0; at < bytes; at += piece_bytes) {
    const std::size_t n = bytes - at < piece_bytes ? bytes - at : piece_bytes;
    ++round;
    if (parent != kNoPe && !await_post(on, on.channel.flag(parent), round, parent)) return false;
    for (int c = 1; c <= arity; ++c) {
      const int child = place * arity + c;
      if (child >= members) break;
      const int to = (child + root) % members;
      if (!on.team.stopped()) move(on, on.team.at(dst + at, to), from + at, n);
      post(on, on.channel.flag(on.me()), round, to);
    }
  }
  if (place == 0) move(on, dst, src, bytes);
  end_round(on, counter, round);
  return meet(on);
}

}  // namespace isotope::detail
