// Collectives of all kinds and algorithms one after another, in an order that a seed gives: for tests of what one call leaves
// behind for the next. Small whole numbers as floats, so that every sum is exact in any order.
#pragma once

#include <cstddef>
#include <cstdint>

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

}  // namespace isotope::testing
