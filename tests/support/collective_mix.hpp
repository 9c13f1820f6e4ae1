// Collectives of all kinds and algorithms one after another, in an order that a seed gives: for tests of what one call
// leaves behind for the next. Small whole numbers as floats, so that every sum is exact in any order.
//
// Where nvcc compiles, each algorithm is a function of its own, named when compiling: it takes five minutes for a
// kernel that has all of them inlined. A kernel says whether it has all of them on GPUs or a few, those of
// is_one_of_few; on the CPU it has all.
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

/// One of each kind of protocol.
constexpr bool is_one_of_few(Collective collective, Algo algo) {
  switch (collective) {
    case Collective::all_reduce:
      return algo == Algo::two_shot || algo == Algo::ll128 || algo == Algo::lamport || algo == Algo::ring ||
             algo == Algo::double_tree;
    case Collective::reduce:
      return false;
    case Collective::reduce_scatter:
      return algo == Algo::pull || algo == Algo::ll8;
    case Collective::all_gather:
      return algo == Algo::ll8;
    case Collective::all_to_all:
      return algo == Algo::ll16 || algo == Algo::eager;
    case Collective::broadcast:
      return algo == Algo::pipelined || algo == Algo::eager;
    case Collective::inclusive_scan:
      return false;
    case Collective::exclusive_scan:
      return true;
  }
  return false;
}

enum class Mix { all, few };

/// What the rounds of a kernel are made of that has `on_gpu` on GPUs.
inline Mix mix_on(const World& world, Mix on_gpu) { return world.drives_gpu() ? on_gpu : Mix::all; }

/// The call of that round, the same on every member.
ISOTOPE_HD Pick pick_of(std::uint64_t seed, std::uint64_t round, int members, Mix mix = Mix::all) {
  Mixer random(seed * 7919 + round);
  constexpr struct {
    Collective collective;
    Algo algo;
    bool few;
  } kAll[] = {
#define X(c, a, dst, src) {Collective::c, Algo::a, is_one_of_few(Collective::c, Algo::a)},
#include "isotope/collective/algorithms.def"
#undef X
  };
  constexpr std::size_t kCount = sizeof(kAll) / sizeof(kAll[0]);
  std::size_t at = random() % kCount;
  while (mix == Mix::few && !kAll[at].few) at = random() % kCount;
  const auto& one = kAll[at];
  const std::uint64_t size = random() % 8;
  const std::size_t count = size == 0  ? 0
                            : size < 4 ? random() % 40
                            : size < 6 ? random() % 481
                                       : 481 + random() % (kMixMost - 481);
  return {one.collective, one.algo, count, static_cast<int>(random() % static_cast<std::uint64_t>(members))};
}

/// How late this PE comes, in nanoseconds: now and then.
ISOTOPE_HD std::uint64_t lateness(std::uint64_t seed, std::uint64_t round, int pe) {
  Mixer random(seed * 104729 + round * 64 + static_cast<std::uint64_t>(pe));
  const std::uint64_t kind = random() % 6;
  return kind == 0 ? random() % 400'000 : kind == 1 ? random() % 20'000 : 0;
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

/// One algorithm, in a function of its own.
template <Collective C, Algo A, class Who, class Where>
ISOTOPE_COLD bool make_one(Who who, const Team& team, const Where& where, const Pick& pick, float* dst,
                           const float* src) {
  constexpr auto kWide = Accumulate::wide;
  constexpr auto kAdd = ReduceOp::add;
  if constexpr (C == Collective::all_reduce) return all_reduce<kAdd, kWide, A>(who, team, where, dst, src, pick.count);
  if constexpr (C == Collective::reduce)
    return reduce<kAdd, kWide, A>(who, team, where, dst, src, pick.count, pick.root);
  if constexpr (C == Collective::reduce_scatter)
    return reduce_scatter<kAdd, kWide, A>(who, team, where, dst, src, pick.count);
  if constexpr (C == Collective::all_gather) return all_gather<A>(who, team, where, dst, src, pick.count);
  if constexpr (C == Collective::all_to_all) return all_to_all<A>(who, team, where, dst, src, pick.count);
  if constexpr (C == Collective::broadcast) return broadcast<A>(who, team, where, dst, src, pick.count, pick.root);
  if constexpr (C == Collective::inclusive_scan)
    return inclusive_scan<kAdd, kWide, A>(who, team, where, dst, src, pick.count);
  if constexpr (C == Collective::exclusive_scan)
    return exclusive_scan<kAdd, kWide, A>(who, team, where, dst, src, pick.count);
}

/// Makes a pick's call from a kernel.
template <Mix OnGpu, class Who, class Where>
ISOTOPE_HD bool make_pick(Who who, const Team& team, const Where& where, const Pick& pick, float* dst,
                          const float* src) {
#if ISOTOPE_GPU_COMPILER
#if defined(__CUDA_ARCH__)
  constexpr bool kAll = OnGpu == Mix::all;
#else
  constexpr bool kAll = true;
#endif  // __CUDA_ARCH__
#define X(c, a, dst_needs, src_needs)                                            \
  if constexpr (kAll || is_one_of_few(Collective::c, Algo::a)) {                 \
    if (pick.collective == Collective::c && pick.algo == Algo::a)                \
      return make_one<Collective::c, Algo::a>(who, team, where, pick, dst, src); \
  }
#include "isotope/collective/algorithms.def"
#undef X
  return false;
#else
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
#endif  // ISOTOPE_GPU_COMPILER
}

/// What went wrong first on this PE.
struct Finding {
  std::uint64_t wrong, round, index;
  float found, expected;
};

/// Keeps the first of them.
ISOTOPE_HD void note(Finding* finding, const Finding& found) {
  if (fetch_add(&finding->wrong, std::uint64_t{1}) != 0) return;
  finding->round = found.round;
  finding->index = found.index;
  finding->found = found.found;
  finding->expected = found.expected;
}

/// Rounds of picks by a group of `size` threads, of which this is `rank`, in the same two buffers each time: whoever
/// still reads or writes them late is seen. `late(round)` may hold it up; sync() is the group's.
template <Mix OnGpu, class Who, class Where, class Sync, class Late>
ISOTOPE_HD void mix_rounds(Who who, const Team& team, const Where& where, std::size_t rank, std::size_t size, Sync sync,
                           Late late, std::uint64_t seed, std::uint64_t rounds, Mix mix, float* dst, float* src,
                           Finding* finding) {
  const int me = team.rank(), members = team.size();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const Pick pick = pick_of(seed, round, members, mix);
    const detail::BufferElements elements = detail::elements_of(pick.collective, pick.count, members);
    for (std::size_t i = rank; i < elements.src; i += size) src[i] = mix_value(round, me, i);
    for (std::size_t i = rank; i < elements.dst + 8; i += size) dst[i] = -1;
    if (rank == 0) late(round);
    sync();
    const bool well = make_pick<OnGpu>(who, team, where, pick, dst, src);
    sync();
    for (std::size_t i = rank; i < elements.dst + 8; i += size) {
      const float expected = i < elements.dst ? mix_expected(pick, round, me, members, i) : -1;
      if (!well || dst[i] != expected) note(finding, {0, round, i, dst[i], expected});
    }
    sync();
  }
}

/// What a Finding means.
inline std::string story(std::uint64_t seed, const Finding& finding, int members, Mix mix = Mix::all) {
  std::string text = "seed " + std::to_string(seed) + ", element " + std::to_string(finding.index) + " is " +
                     std::to_string(finding.found) + ", not " + std::to_string(finding.expected) + " in round " +
                     std::to_string(finding.round) + "; the rounds about it:";
  const std::uint64_t at = finding.round;
  for (std::uint64_t round = at < 3 ? 0 : at - 3; round <= at + 2; ++round) {
    const Pick pick = pick_of(seed, round, members, mix);
    text += " " + std::to_string(round) + ": " + name_of(pick.algo) + " " + name_of(pick.collective) + " of " +
            std::to_string(pick.count) + ";";
  }
  return text;
}

}  // namespace isotope::testing
