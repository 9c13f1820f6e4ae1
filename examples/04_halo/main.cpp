// Halo exchange: a bar of cells, cut into one piece per PE, each cell of which becomes the sum of itself and its two
// neighbours, round after round. Before each round the cells at the cuts go to the neighbours.
//
// Shows: one-element puts into the neighbours' halo cells, a barrier between rounds, and a kernel that is launched
// again and again and still agrees on the round.
#include <cstdio>
#include <vector>

#include "isotope/isotope.hpp"

using namespace isotope;

// cells[0] and cells[n + 1] are the halo. `odd` and `even` take turns as input and output.
ISOTOPE_KERNEL void rounds(Team team, Span<std::uint64_t> even, Span<std::uint64_t> odd, int count) {
  const auto block = this_block();
  const int me = team.rank(), size = team.size();
  const int right = (me + 1) % size, left = (me + size - 1) % size;
  const std::size_t n = even.size() - 2;
  for (int round = 0; round < count; ++round) {
    Span<std::uint64_t> in = round % 2 == 0 ? even : odd, out = round % 2 == 0 ? odd : even;
    if (block.is_leader()) {
      p(team, &in[n + 1], in[1], left);  // my first cell is the left neighbour's right halo
      p(team, &in[0], in[n], right);
    }
    // Everyone's halo is there; and everyone is done with `out`, which was the input of the round before.
    if (!barrier(block, team)) return;
    for (std::size_t i = 1 + block.thread_rank(); i <= n; i += block.size()) out[i] = in[i - 1] + in[i] + in[i + 1];
    block.sync();
  }
}

ISOTOPE_MAIN(argc, argv) {
  World world = init();
  constexpr std::size_t kCells = 50;
  constexpr int kRounds = 20, kLaunches = 3;
  auto even = world.alloc_zeroed<std::uint64_t>(kCells + 2), odd = world.alloc_zeroed<std::uint64_t>(kCells + 2);
  const std::size_t all = kCells * static_cast<std::size_t>(world.size()),
                    first = kCells * static_cast<std::size_t>(world.rank());
  std::vector<std::uint64_t> cells(kCells);
  for (std::size_t i = 0; i < kCells; ++i) cells[i] = (first + i) % 7;
  even.write(cells, 1);  // between the halo cells
  world.barrier();

  for (int i = 0; i < kLaunches; ++i)
    world.launch<rounds>({.grid = 1, .block = 64}, world.team(), even.span(), odd.span(), kRounds);
  world.synchronize();

  // The same on one PE, with the whole bar. Sums wrap around in both.
  std::vector<std::uint64_t> now(all), next(all);
  for (std::size_t i = 0; i < all; ++i) now[i] = i % 7;
  for (int round = 0; round < kRounds * kLaunches; ++round) {
    for (std::size_t i = 0; i < all; ++i) next[i] = now[(i + all - 1) % all] + now[i] + now[(i + 1) % all];
    now.swap(next);
  }
  cells = even.read(1, kCells);
  for (std::size_t i = 0; i < kCells; ++i) {
    if (cells[i] != now[first + i]) {
      std::fprintf(stderr, "PE %d: cell %zu differs\n", world.rank(), i);
      return 1;
    }
  }
  std::printf("PE %d: %zu cells are right after %d rounds\n", world.rank(), kCells, kRounds * kLaunches);
  return 0;
}
