// collect and all_to_all_v inside kernels, back to back: by threads, warps, blocks and whole grids.
#include <cstdint>

#include "support/job_shape.hpp"

namespace isotope {
namespace {

class CollectiveVariableKernels : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveVariableKernels);

// By warps and threads, each on a channel of its own.
template <class G>
ISOTOPE_HD void swap_often(G group, Team& team, const Channel& channel, std::uint32_t* dst, std::uint32_t* src,
                           std::uint64_t* words, std::uint64_t* wrong) {
  const int me = team.rank(), members = team.size();
  std::uint64_t *counts = words, *src_offsets = counts + members, *dst_offsets = src_offsets + members;
  for (std::uint64_t round = 0; round < 15; ++round) {
    const auto length = [&](int from, int to) {
      return (round * 3 + static_cast<std::uint64_t>(from) * 5 + static_cast<std::uint64_t>(to)) % 7;
    };
    for (int k = static_cast<int>(group.thread_rank()); k < members; k += static_cast<int>(group.size())) {
      counts[k] = length(me, k);
      src_offsets[k] = dst_offsets[k] = static_cast<std::uint64_t>(k) * 8;
      for (std::uint64_t i = 0; i < 8; ++i) {
        src[static_cast<std::uint64_t>(k) * 8 + i] = static_cast<std::uint32_t>(round * 1000 + me * 100 + k * 10 + i);
        dst[static_cast<std::uint64_t>(k) * 8 + i] = 5;
      }
    }
    group.sync();
    bool well = all_to_all_v(group, team, channel, dst, dst_offsets, src, counts, src_offsets);
    group.sync();
    for (int k = 0; k < members; ++k) {
      for (std::uint64_t i = 0; i < 8; ++i)
        well = well && dst[static_cast<std::uint64_t>(k) * 8 + i] ==
                           (i < length(k, me) ? round * 1000 + static_cast<std::uint64_t>(k * 100 + me * 10) + i : 5);
    }
    std::size_t total = 0;
    well = collect(group, team, channel, dst, src, static_cast<std::size_t>(me) % 3, &total) && well;
    std::size_t at = 0;
    for (int k = 0; k < members; ++k) {
      for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(k) % 3; ++i)
        well = well && dst[at++] == round * 1000 + static_cast<std::uint64_t>(k * 100) + i;
    }
    if (!well || at != total) fetch_add(wrong, std::uint64_t{1});
    group.sync();
  }
}

ISOTOPE_KERNEL void swap_by_warps_and_threads(Team team, Workspace workspace, std::uint32_t* dst, std::uint32_t* src,
                                              std::uint64_t* words, std::uint64_t* wrong) {
  const Block block = this_block();
  const auto members = static_cast<std::size_t>(team.size());
  const auto place = [&](std::uint32_t channel, auto group) {
    swap_often(group, team, workspace.channel(static_cast<int>(channel)), dst + channel * members * 8,
               src + channel * members * 8, words + channel * members * 3, wrong);
  };
  if (block.rank() == 0) {
    place(block.thread_rank() / 32, this_warp());
  } else if (block.thread_rank() == 0) {
    place(1 + block.rank(), this_thread());
  }
}

TEST_P(CollectiveVariableKernels, ByWarpsAndThreads) {
  run([](World& world) {
    constexpr int kChannels = 4;
    const auto members = static_cast<std::size_t>(world.size());
    Collectives coll(world, {.channels = kChannels, .slot_bytes = 1920});
    auto dst = world.alloc<std::uint32_t>(8 * members * kChannels), src = world.alloc<std::uint32_t>(dst.size());
    auto words = world.alloc<std::uint64_t>(3 * members * kChannels), wrong = world.alloc_zeroed<std::uint64_t>(1);
    world.launch<swap_by_warps_and_threads>({.grid = 3, .block = 64}, world.team(), coll.workspace(), dst.data(),
                                            src.data(), words.data(), wrong.data());
    world.synchronize();
    EXPECT_EQ(wrong.get(0), 0u);
    world.barrier();
  });
}

// In one kernel, by blocks of many threads on channels of their own, back to back.
ISOTOPE_KERNEL void collect_often(Team team, Workspace workspace, std::uint32_t* dst, std::uint32_t* src,
                                  std::size_t stride, std::uint64_t* wrong) {
  const Block block = this_block();
  dst += block.rank() * stride;
  src += block.rank() * stride;
  for (std::uint64_t round = 0; round < 30; ++round) {
    const auto length = [&](int k) { return (round * 7 + static_cast<std::uint64_t>(k) * 5) % 11; };
    const std::uint64_t n = length(team.rank());
    for (std::size_t i = block.thread_rank(); i < n; i += block.size())
      src[i] = static_cast<std::uint32_t>(round * 1000 + static_cast<std::uint64_t>(team.rank()) * 100 + i);
    block.sync();
    std::size_t total = 0, at = 0;
    bool well = collect(block, team, workspace.channel(static_cast<int>(block.rank())), dst, src, n, &total);
    block.sync();
    for (int k = 0; k < team.size(); ++k) {
      for (std::uint64_t i = 0; i < length(k); ++i)
        well = well && dst[at++] == round * 1000 + static_cast<std::uint64_t>(k) * 100 + i;
    }
    if (!well || total != at) fetch_add(wrong, std::uint64_t{1});
    block.sync();
  }
}

TEST_P(CollectiveVariableKernels, CollectByBlocksBackToBack) {
  run([](World& world) {
    Collectives coll(world, {.channels = 2, .slot_bytes = 1920});
    const std::size_t stride = 11 * static_cast<std::size_t>(world.size());
    auto dst = world.alloc<std::uint32_t>(2 * stride), src = world.alloc<std::uint32_t>(2 * stride);
    auto wrong = world.alloc_zeroed<std::uint64_t>(1);
    world.launch<collect_often>({.grid = 2, .block = 40}, world.team(), coll.workspace(), dst.data(), src.data(),
                                stride, wrong.data());
    world.synchronize();
    EXPECT_EQ(wrong.get(0), 0u);
  });
}

// By whole grids: the blocks share out what each member brings, so a call is over when all of them are.
constexpr std::size_t kMany = 3000;
constexpr std::uint64_t kGridRounds = 12;

/// What member `from` brings for `to` in a round: nothing, less than there are threads, or a lot.
ISOTOPE_HD std::size_t length_of(std::uint64_t round, int from, int to) {
  const std::uint64_t mixed =
      (round * 5 + static_cast<std::uint64_t>(from) * 3 + static_cast<std::uint64_t>(to) * 7) * 2654435761u;
  return mixed % 4 == 0 ? 0 : mixed % 4 == 1 ? mixed % 60 : mixed % kMany;
}
ISOTOPE_HD std::uint16_t value_of(std::uint64_t round, int from, int to, std::size_t i) {
  return static_cast<std::uint16_t>(round * 7001 + static_cast<std::uint64_t>(from) * 911 +
                                    static_cast<std::uint64_t>(to) * 101 + i * 3);
}

struct GridThread {
  std::size_t rank, count;
};
ISOTOPE_HD GridThread thread_of_grid() {
  const Block block = this_block();
  return {block.rank() * block.size() + block.thread_rank(), block.grid_size() * block.size()};
}

ISOTOPE_KERNEL void collect_by_grid(Team team, Workspace workspace, std::uint16_t* dst, std::uint16_t* src,
                                    std::uint64_t* wrong) {
  const GridThread me = thread_of_grid();
  for (std::uint64_t round = 0; round < kGridRounds; ++round) {
    const bool in_place = round % 3 == 2;
    std::size_t before = 0, all = 0, total = 0;
    for (int k = 0; k < team.size(); ++k) {
      if (k < team.rank()) before += length_of(round, k, 0);
      all += length_of(round, k, 0);
    }
    std::uint16_t* from = in_place ? dst + before : src;
    const std::size_t n = length_of(round, team.rank(), 0);
    for (std::size_t i = me.rank; i < all + 8; i += me.count) dst[i] = 0x5a5a;
    if (!grid_sync(team)) return;
    for (std::size_t i = me.rank; i < n; i += me.count) from[i] = value_of(round, team.rank(), 0, i);
    bool well = collect(this_grid(), team, workspace, dst, from, n, &total) && total == all;
    std::size_t begin = 0;
    for (int k = 0; k < team.size(); begin += length_of(round, k++, 0)) {
      for (std::size_t i = me.rank; i < length_of(round, k, 0); i += me.count)
        well = well && dst[begin + i] == value_of(round, k, 0, i);
    }
    for (std::size_t i = me.rank; i < 8; i += me.count) well = well && dst[all + i] == 0x5a5a;
    if (!well) fetch_add(wrong, std::uint64_t{1});
    if (!grid_sync(team)) return;
  }
}

ISOTOPE_KERNEL void exchange_by_grid(Team team, Workspace workspace, std::uint16_t* dst, std::uint16_t* src,
                                     std::uint64_t* words, std::uint64_t* wrong) {
  const GridThread me = thread_of_grid();
  const auto members = static_cast<std::size_t>(team.size());
  std::uint64_t *counts = words, *src_offsets = counts + members, *dst_offsets = src_offsets + members,
                *received = dst_offsets + members;
  for (std::uint64_t round = 0; round < kGridRounds; ++round) {
    std::size_t out = 0, in = 0;
    for (int k = 0; k < team.size(); ++k) {
      const std::size_t n = length_of(round, team.rank(), k);
      if (me.rank == 0) {
        counts[k] = n;
        src_offsets[k] = out;
        dst_offsets[k] = in;
        received[k] = 77;
      }
      for (std::size_t i = me.rank; i < n; i += me.count) src[out + i] = value_of(round, team.rank(), k, i);
      out += n;
      in += length_of(round, k, team.rank());
    }
    for (std::size_t i = me.rank; i < in + 8; i += me.count) dst[i] = 0x5a5a;
    bool well = all_to_all_v(this_grid(), team, workspace, dst, dst_offsets, src, counts, src_offsets, received);
    for (int k = 0; k < team.size(); ++k) {
      const std::size_t n = length_of(round, k, team.rank());
      well = well && received[k] == n;
      for (std::size_t i = me.rank; i < n; i += me.count)
        well = well && dst[dst_offsets[k] + i] == value_of(round, k, team.rank(), i);
    }
    for (std::size_t i = me.rank; i < 8; i += me.count) well = well && dst[in + i] == 0x5a5a;
    if (!well) fetch_add(wrong, std::uint64_t{1});
    if (!grid_sync(team)) return;
  }
}

TEST_P(CollectiveVariableKernels, ByGridsBackToBack) {
  run([](World& world) {
    constexpr std::uint32_t kBlocks = 3;
    Collectives coll(world, {.channels = kBlocks, .slot_bytes = 1920});
    const auto members = static_cast<std::size_t>(world.size());
    auto dst = world.alloc<std::uint16_t>(kMany * members + 8), src = world.alloc<std::uint16_t>(kMany * members);
    auto words = world.alloc<std::uint64_t>(4 * members), wrong = world.alloc_zeroed<std::uint64_t>(1);
    const LaunchConfig config{.grid = kBlocks, .block = 40};
    world.launch<collect_by_grid>(config, world.team(), coll.workspace(), dst.data(), src.data(), wrong.data());
    world.launch<exchange_by_grid>(config, world.team(), coll.workspace(), dst.data(), src.data(), words.data(),
                                   wrong.data());
    world.synchronize();
    EXPECT_EQ(wrong.get(0), 0u);
    world.barrier();
  });
}

}  // namespace
}  // namespace isotope
