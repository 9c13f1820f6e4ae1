// put and get through shared memory, on every platform: each unit of a block sends to its right neighbour, or fetches
// from its left one, round after round. Checked are every byte that arrived, the bytes around the target, that the
// source may be reused, and that the scratch is the caller's again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "isotope/isotope.hpp"

namespace isotope::testing {

struct ScratchBoards {
  Span<unsigned char> inbox, outbox;  // a slot for each unit
  Span<Signal> arrived, taken;        // [unit]
  Span<std::uint64_t> wrong;
};

struct ScratchCase {
  std::size_t bytes = 0;
  std::size_t dst_skew = 0, src_skew = 0;  // from 16-byte alignment
  std::size_t scratch_bytes = 0, scratch_skew = 0;
  std::uint32_t rounds = 1;
  std::uint32_t first = 1;  // number of the first round: the flags go on counting
};

inline constexpr std::size_t kScratchGuard = 64;
inline constexpr std::size_t kScratchMostBytes = 300016;
inline constexpr std::size_t kScratchSlot = kScratchMostBytes / 128 * 128 + 512;
inline constexpr std::size_t kScratchUnits = 4;
inline constexpr unsigned char kScratchPoison = 0xa5;

ISOTOPE_HD unsigned char scratch_value(int from, std::uint32_t unit, std::uint32_t round, std::size_t i) {
  const auto mixed = static_cast<std::uint32_t>(i) * 2654435761u + static_cast<std::uint32_t>(from) * 40503u +
                     unit * 977u + round * 131u;
  return static_cast<unsigned char>((mixed ^ mixed >> 15) >> 3);
}

template <Group G>
ISOTOPE_HD std::uint32_t scratch_unit() {
  if constexpr (std::is_same_v<G, Thread>) return this_block().thread_rank();
  if constexpr (std::is_same_v<G, Warp>) return this_warp().rank();
  return 0;
}

template <Group G, class F>
ISOTOPE_HD void scratch_each(G group, std::size_t count, const F& f) {
  // In an order that gives no thread what the copy gave it.
  for (std::size_t i = group.size() - 1 - group.thread_rank(); i < count; i += group.size()) f(i);
}

template <Group G, bool Get>
ISOTOPE_KERNEL void scratch_rounds(Team team, ScratchBoards boards, ScratchCase one) {
  const G group{};
  const std::uint32_t unit = scratch_unit<G>();
  const int me = team.rank(), right = (me + 1) % team.size(), left = (me + team.size() - 1) % team.size();
  const std::size_t stride = (one.scratch_bytes + one.scratch_skew + 127) / 128 * 128;
  const Span<char> scratch = dynamic_shared<char>().subspan(unit * stride + one.scratch_skew, one.scratch_bytes);
  const Span<unsigned char> slot =
      boards.inbox.subspan(unit * kScratchSlot, one.bytes + 2 * kScratchGuard + one.dst_skew);
  const std::size_t begin = kScratchGuard + one.dst_skew;
  const Span<unsigned char> in = slot.subspan(begin, one.bytes);
  const Span<unsigned char> out = boards.outbox.subspan(unit * kScratchSlot + one.src_skew, one.bytes);
  const auto check = [&](bool good) {
    if (!good) fetch_add(&boards.wrong[0], std::uint64_t{1});
  };
  const auto sent = [&](int from, std::uint32_t round, std::size_t i) { return scratch_value(from, unit, round, i); };
  for (std::uint32_t round = one.first; round < one.first + one.rounds; ++round) {
    // Nobody needs what the last round left in the outbox (a get) or in the neighbour's inbox (a put).
    if (!wait_until(group, team, &boards.taken[unit], Cmp::ge, round - 1)) return;
    scratch_each(group, one.bytes, [&](std::size_t i) { out[i] = sent(me, round, i); });
    scratch_each(group, scratch.size(), [&](std::size_t i) { scratch[i] = static_cast<char>(i + round); });
    if constexpr (Get) {
      signal(group, team, &boards.arrived[unit], 1, SignalOp::add, right);
      if (!wait_until(group, team, &boards.arrived[unit], Cmp::ge, round)) return;
      scratch_each(group, slot.size(), [&](std::size_t i) { check(slot[i] == kScratchPoison); });
      get(group, team, in, out, left, scratch);
    } else {
      put(group, team, in, out, right, scratch);
      scratch_each(group, one.bytes, [&](std::size_t i) { out[i] = 0; });
    }
    scratch_each(group, scratch.size(), [&](std::size_t i) { scratch[i] = static_cast<char>(i * 3 + round); });
    if constexpr (!Get) {
      signal(group, team, &boards.arrived[unit], 1, SignalOp::add, right);
      if (!wait_until(group, team, &boards.arrived[unit], Cmp::ge, round)) return;
    }
    scratch_each(group, slot.size(), [&](std::size_t i) {
      const bool data = i >= begin && i < begin + one.bytes;
      check(slot[i] == (data ? sent(left, round, i - begin) : kScratchPoison));
    });
    group.sync();
    scratch_each(group, scratch.size(), [&](std::size_t i) {
      const std::size_t other = scratch.size() - 1 - i;  // what another thread wrote
      check(scratch[other] == static_cast<char>(other * 3 + round));
    });
    scratch_each(group, slot.size(), [&](std::size_t i) { slot[i] = kScratchPoison; });
    signal(group, team, &boards.taken[unit], 1, SignalOp::add, left);
  }
}

/// Runs every case by blocks, warps and threads; `expect(good, what)` is told of each.
template <class Expect>
void scratch_copies(World& world, Expect&& expect) {
  const std::size_t all = kScratchSlot * kScratchUnits;
  auto inbox = world.alloc<unsigned char>(all), outbox = world.alloc<unsigned char>(all);
  auto arrived = world.alloc_zeroed<Signal>(kScratchUnits), taken = world.alloc_zeroed<Signal>(kScratchUnits);
  auto wrong = world.alloc_zeroed<std::uint64_t>(1);
  inbox.write(std::vector<unsigned char>(all, kScratchPoison));
  world.barrier();
  std::uint32_t done = 0;  // rounds of all units: the units that a case does not use are counted on by the host
  const auto run = [&]<class G, bool Get>(ScratchCase one, std::uint32_t units, std::uint32_t threads,
                                          const char* what) {
    one.first = done + 1;
    one.rounds = one.bytes > 20000 ? 2 : 3;
    const std::size_t shared = ((one.scratch_bytes + one.scratch_skew + 127) / 128 * 128) * units;
    const ScratchBoards boards{inbox.span(), outbox.span(), arrived.span(), taken.span(), wrong.span()};
    world.launch<scratch_rounds<G, Get>>({.block = threads, .shared_bytes = shared}, world.team(), boards, one);
    world.synchronize();
    world.barrier();
    done += one.rounds;
    arrived.write(std::vector<Signal>(kScratchUnits, Signal{done}));
    taken.write(std::vector<Signal>(kScratchUnits, Signal{done}));
    const std::uint64_t bad = wrong.get(0);
    expect(bad == 0, std::to_string(bad) + " wrong bytes: " + (Get ? "get by " : "put by ") + what + " of " +
                         std::to_string(one.bytes) + " bytes, skews " + std::to_string(one.dst_skew) + " and " +
                         std::to_string(one.src_skew) + ", scratch " + std::to_string(one.scratch_bytes) + " + " +
                         std::to_string(one.scratch_skew));
    wrong.set(0, 0);
    world.barrier();
  };
  const auto by_all = [&](const ScratchCase& one) {
    run.template operator()<Block, false>(one, 1, 128, "a block");
    run.template operator()<Block, true>(one, 1, 128, "a block");
    if (one.scratch_bytes > 48 * 1024) return;
    run.template operator()<Warp, false>(one, 2, 48, "a warp");  // the second one is not whole
    run.template operator()<Warp, true>(one, 2, 48, "a warp");
    run.template operator()<Thread, false>(one, 3, 3, "a thread");
    run.template operator()<Thread, true>(one, 3, 3, "a thread");
  };
  for (const std::size_t bytes : {0, 1, 15, 16, 17, 4096, 20001}) by_all({.bytes = bytes, .scratch_bytes = 4096});
  by_all({.bytes = 4096, .scratch_bytes = 2048});
  by_all({.bytes = 4096, .scratch_bytes = 1024});
  by_all({.bytes = 4096, .scratch_bytes = 0});
  by_all({.bytes = 5000, .scratch_bytes = 4096, .scratch_skew = 8});
  by_all({.bytes = 5000, .dst_skew = 1, .src_skew = 1, .scratch_bytes = 4096});
  by_all({.bytes = 5000, .dst_skew = 8, .scratch_bytes = 4096});
  by_all({.bytes = 5000, .src_skew = 3, .scratch_bytes = 4096});
  by_all({.bytes = 98305, .scratch_bytes = 160 * 1024});  // fits
  by_all({.bytes = kScratchMostBytes, .scratch_bytes = 192 * 1024});
  by_all({.bytes = kScratchMostBytes - 1, .scratch_bytes = 8192 + 4});
}

}  // namespace isotope::testing
