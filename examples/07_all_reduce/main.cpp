// The mean and the spread of numbers that lie on all PEs, by all-reduce: from inside a kernel, from the host, and on a
// stream.
//
// Shows: Collectives, a fused kernel whose blocks each use a channel of their own, and how an algorithm is asked for by
// name.
#include <cmath>
#include <cstdio>

#include "isotope/isotope.hpp"

using namespace isotope;

constexpr std::size_t kEach = 1000;  // numbers per PE
constexpr std::uint32_t kBlocks = 2;

// Each block sums its share of this PE's numbers and, with its counterparts on the other PEs, the shares of all PEs.
ISOTOPE_KERNEL void sum(Team team, Workspace workspace, Span<const double> numbers, double* sums) {
  const auto block = this_block();
  double* mine = &sums[block.rank()];
  if (block.is_leader()) {
    *mine = 0;
    for (std::size_t i = block.rank(); i < numbers.size(); i += block.grid_size()) *mine += numbers[i];
  }
  block.sync();
  all_reduce<ReduceOp::add>(block, team, workspace.channel(static_cast<int>(block.rank())), mine, mine, 1);
}

ISOTOPE_MAIN(argc, argv) {
  World world = init();
  Collectives coll(world);
  auto numbers = world.alloc<double>(kEach);
  auto sums = world.alloc<double>(kBlocks);
  auto spread = world.alloc<double>(2);
  for (std::size_t i = 0; i < kEach; ++i)
    numbers.set(i, static_cast<double>(world.rank() * 1000 + static_cast<int>(i)));

  world.launch<sum>({.grid = kBlocks, .block = 32}, world.team(), coll.workspace(), Span<const double>(numbers.span()),
                    sums.data());
  world.synchronize();
  const double mean = (sums.get(0) + sums.get(1)) / static_cast<double>(kEach) / world.size();

  // The least and the largest at once: the largest is the least of the negative ones.
  spread.set(0, numbers.get(0));
  spread.set(1, -numbers.get(kEach - 1));
  coll.all_reduce(spread.data(), spread.data(), 2, ReduceOp::min);
  if (world.rank() == 0) std::printf("mean %.1f, from %.0f to %.0f\n", mean, spread.get(0), -spread.get(1));

  // On a stream, by an algorithm of our choice: every PE gets the average of each number.
  Stream stream = world.create_stream();
  auto averages = world.alloc<double>(kEach);
  on_stream::all_reduce(coll, stream, averages.data(), numbers.data(), kEach, ReduceOp::average, {.algo = Algo::ring});
  stream.synchronize();

  const double last = 1000.0 * (world.size() - 1) + kEach - 1, middle = 500.0 * (world.size() - 1);
  const bool right = std::abs(mean - last / 2) < 1e-9 && spread.get(0) == 0 && -spread.get(1) == last &&
                     std::abs(averages.get(7) - middle - 7) < 1e-9;
  return right ? 0 : 1;
}
