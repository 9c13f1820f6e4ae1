// Cooperative launches and launches in clusters, as the kernel sees them: part of world.cu.
#pragma once

#include <cooperative_groups.h>

#include <cstdint>
#include <string>
#include <vector>

#include "checks.hpp"
#include "isotope/isotope.hpp"

namespace gpu_world {

using namespace isotope;
using namespace gpu_checks;

/// Counts the threads that found what all blocks had written, twice by the team's sync of the grid and once by CUDA's
/// own, which only a cooperative launch has.
ISOTOPE_KERNEL void meet_in_grid(Team team, Span<int> places, Span<int> count) {
  const auto block = this_block();
  bool well = true;
  for (int round = 1; round <= 3; ++round) {
    if (block.is_leader()) places[block.rank()] = round;
    if (round < 3) {
      if (!grid_sync(team)) return;
    } else {
#if defined(__CUDA_ARCH__)
      const auto grid = cooperative_groups::this_grid();
      if (!grid.is_valid()) return;
      grid.sync();
#endif  // __CUDA_ARCH__
    }
    for (std::uint32_t i = 0; i < block.grid_size(); ++i) well = well && places[i] == round;
    if (!grid_sync(team)) return;
  }
  if (well) fetch_add(count.data(), 1, Order::relaxed, Scope::device);
}

inline void cooperative_launch(World& world) {
  constexpr std::uint32_t kBlocks = 6, kThreads = 64;
  auto places = world.alloc_zeroed<int>(kBlocks), count = world.alloc_zeroed<int>(1);
  world.launch<meet_in_grid>({.grid = kBlocks, .block = kThreads, .cooperative = true}, world.team(), places.span(),
                             count.span());
  world.synchronize();
  expect(count.get(0) == kBlocks * kThreads, "a cooperative launch: its grid meets, by CUDA's sync too");
  count.set(0, 0);
  world.launch<meet_in_grid>({.grid = kBlocks, .block = kThreads}, world.team(), places.span(), count.span());
  world.synchronize();
  expect(count.get(0) == 0, "a launch is cooperative only where it was asked for");
  world.barrier();
}

struct Place {
  std::uint32_t rank, size;
};

/// Where each block stands in its cluster, and what its neighbour there says by shared memory of the cluster.
ISOTOPE_KERNEL void look_at_cluster(Team, Span<Place> places, Span<std::uint32_t> neighbours) {
  const auto block = this_block();
  Place mine{0, 1};
  std::uint32_t neighbour = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(mine.rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(mine.size));
  const auto cluster = cooperative_groups::this_cluster();
  __shared__ std::uint32_t word;
  if (block.is_leader()) word = block.rank();
  cluster.sync();
  neighbour = *cluster.map_shared_rank(&word, (mine.rank + 1) % mine.size);
  cluster.sync();
#endif  // sm_90
  if (!block.is_leader()) return;
  places[block.rank()] = mine;
  neighbours[block.rank()] = neighbour;
}

inline void cluster_launch(World& world) {
  if (world.compute_capability() < 90) return;
  constexpr std::uint32_t kBlocks = 4, kCluster = 2;
  auto places = world.alloc_zeroed<Place>(kBlocks);
  auto neighbours = world.alloc_zeroed<std::uint32_t>(kBlocks);
  for (const std::uint32_t size : {kCluster, 1u}) {
    const LaunchConfig config{.grid = kBlocks, .block = 32, .cluster = size};
    // How many clusters a small share of a GPU holds has not been tried.
    const bool fits = world.fits<look_at_cluster>(config);
    expect(fits || world.size() > 4, "two clusters of two blocks fit");
    if (!fits) continue;
    world.launch<look_at_cluster>(config, world.team(), places.span(), neighbours.span());
    world.synchronize();
    const std::vector<Place> found = places.read();
    const std::vector<std::uint32_t> told = neighbours.read();
    bool right = true;
    for (std::uint32_t b = 0; b < kBlocks; ++b) {
      const std::uint32_t next = b / size * size + (b + 1) % size;
      right = right && found[b].rank == b % size && found[b].size == size && told[b] == next;
    }
    expect(right, "blocks stand in clusters of " + std::to_string(size));
  }
  world.barrier();
}

}  // namespace gpu_world
