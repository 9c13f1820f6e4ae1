// Collectives of all kinds and algorithms one after another, in an order that a seed gives: for tests of what one call leaves
// behind for the next. Small whole numbers as floats, so that every sum is exact in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "isotope/isotope.hpp"
#include "support/mixer.hpp"

namespace isotope::testing {

struct Pick {
  Collective collective;
  Algo algo;
  std::size_t count;
  int root;
};

inline constexpr std::size_t kMixMost = 700;  // elements; a slot of 1920 bytes holds 480

/// The call of that round, the same on every member.
ISOTOPE_HD Pick pick_of(std::uint64_t seed, std::uint64_t round, int members) {
  Mixer random(seed * 7919 + round);
  constexpr struct {
    Collective collective;
    Algo algo;
  } kAll[] = {
#define X(c, a, dst, src) {Collective::c, Algo::a},
#include "isotope/collective/algorithms.def"
#undef X
  };
  const auto& one = kAll[random() % (sizeof(kAll) / sizeof(kAll[0]))];
  const std::uint64_t size = random() % 8;
  const std::size_t count = size == 0 ? 0 : size < 4 ? random() % 40 : size < 6 ? random() % 481 : 481 + random() % (kMixMost - 481);
  return {one.collective, one.algo, count, static_cast<int>(random() % static_cast<std::uint64_t>(members))};
}

/// Element i of what a member brings to a round.
ISOTOPE_HD float mix_value(std::uint64_t round, int member, std::size_t i) {
  return static_cast<float>((round * 31 + static_cast<std::uint64_t>(member) * 17 + i * 7) % 61 + 1);
}

/// Element i of what member `me` has afterwards; negative: what was there before.
ISOTOPE_HD float mix_expected(const Pick& pick, std::uint64_t round, int me, int members, std::size_t i) {
  const auto sum = [&](int count, std::size_t at) {
    float all = 0;
    for (int k = 0; k < count; ++k) all += mix_value(round, k, at);
    return all;
  };
  const auto block = static_cast<int>(i / pick.count);
  const std::size_t in_block = i % pick.count, mine = static_cast<std::size_t>(me) * pick.count;
  switch (pick.collective) {
    case Collective::all_reduce:
      return sum(members, i);
    case Collective::reduce:
      return me == pick.root ? sum(members, i) : -1;
    case Collective::reduce_scatter:
      return sum(members, mine + i);
    case Collective::all_gather:
      return mix_value(round, block, in_block);
    case Collective::all_to_all:
      return mix_value(round, block, mine + in_block);
    case Collective::broadcast:
      return mix_value(round, pick.root, i);
    case Collective::inclusive_scan:
      return sum(me + 1, i);
    case Collective::exclusive_scan:
      return sum(me, i);
  }
  return -1;
}

/// Makes a pick's call from a kernel.
template <class Who, class Where>
ISOTOPE_HD bool make_pick(Who who, const Team& team, const Where& where, const Pick& pick, float* dst, const float* src) {
  switch (pick.collective) {
    case Collective::all_reduce:
      return all_reduce<ReduceOp::add>(who, team, where, dst, src, pick.count, pick.algo);
    case Collective::reduce:
      return reduce<ReduceOp::add>(who, team, where, dst, src, pick.count, pick.root, pick.algo);
    case Collective::reduce_scatter:
      return reduce_scatter<ReduceOp::add>(who, team, where, dst, src, pick.count, pick.algo);
    case Collective::all_gather:
      return all_gather(who, team, where, dst, src, pick.count, pick.algo);
    case Collective::all_to_all:
      return all_to_all(who, team, where, dst, src, pick.count, pick.algo);
    case Collective::broadcast:
      return broadcast(who, team, where, dst, src, pick.count, pick.root, pick.algo);
    case Collective::inclusive_scan:
      return inclusive_scan<ReduceOp::add>(who, team, where, dst, src, pick.count, pick.algo);
    case Collective::exclusive_scan:
      return exclusive_scan<ReduceOp::add>(who, team, where, dst, src, pick.count, pick.algo);
  }
  return false;
}

/// What went wrong first on this PE.
struct Finding {
  std::uint64_t wrong, round, index;
  float found, expected;
};

/// Rounds of picks by a group of `size` threads, of which this is `rank`, in the same two buffers each time: whoever still
/// reads or writes them late is seen. `late(round)` may hold it up; sync() is the group's.
template <class Who, class Where, class Sync, class Late>
ISOTOPE_HD void mix_rounds(Who who, const Team& team, const Where& where, std::size_t rank, std::size_t size, Sync sync, Late late,
                           std::uint64_t seed, std::uint64_t rounds, float* dst, float* src, Finding* finding) {
  const int me = team.rank(), members = team.size();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const Pick pick = pick_of(seed, round, members);
    const detail::BufferElements elements = detail::elements_of(pick.collective, pick.count, members);
    for (std::size_t i = rank; i < elements.src; i += size) src[i] = mix_value(round, me, i);
    for (std::size_t i = rank; i < elements.dst + 8; i += size) dst[i] = -1;
    if (rank == 0) late(round);
    sync();
    const bool well = make_pick(who, team, where, pick, dst, src);
    sync();
    for (std::size_t i = rank; i < elements.dst + 8; i += size) {
      const float expected = i < elements.dst ? mix_expected(pick, round, me, members, i) : -1;
      if ((!well || dst[i] != expected) && fetch_add(&finding->wrong, std::uint64_t{1}) == 0) {
        finding->round = round;
        finding->index = i;
        finding->found = dst[i];
        finding->expected = expected;
      }
    }
    sync();
  }
}

/// What a Finding means.
inline std::string story(std::uint64_t seed, const Finding& finding, int members) {
  std::string text = "seed " + std::to_string(seed) + ", element " + std::to_string(finding.index) + " is " +
                     std::to_string(finding.found) + ", not " + std::to_string(finding.expected) + " in round " +
                     std::to_string(finding.round) + "; the rounds about it:";
  const std::uint64_t at = finding.round;
  for (std::uint64_t round = at < 3 ? 0 : at - 3; round <= at + 2; ++round) {
    const Pick pick = pick_of(seed, round, members);
    text += " " + std::to_string(round) + ": " + name_of(pick.algo) + " " + name_of(pick.collective) + " of " +
            std::to_string(pick.count) + ";";
  }
  return text;
}

}  // namespace isotope::testing
