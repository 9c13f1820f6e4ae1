// An all-reduce around a ring: in each of size - 1 steps every PE passes on what it got last and adds it to its sum.
//
// Shows: puts with a signal, two boxes per PE so that a fast sender never overwrites what its neighbour still reads,
// and a second signal for "your box is free again". All counters only grow.
#include <cstdio>
#include <vector>

#include "isotope/isotope.hpp"

using namespace isotope;

struct RingArguments {
  Span<long> values;  // in: mine, out: the sum over all PEs
  Span<long> boxes;   // two, each as long as values
  Signal* arrived;    // counts what came into my boxes
  Signal* freed;      // counts what my right neighbour has passed on
};

ISOTOPE_KERNEL void ring_sum(Team team, RingArguments ring) {
  const auto block = this_block();
  const int me = team.rank(), size = team.size();
  const int right = (me + 1) % size, left = (me + size - 1) % size;
  const std::size_t n = ring.values.size();

  Span<const long> passing = ring.values;
  for (int step = 1; step < size; ++step) {
    Span<long> box = ring.boxes.subspan(static_cast<std::size_t>(step % 2) * n, n);
    // What the neighbour's box held before, in step - 2, must have been passed on.
    if (step > 2 && !wait_until(block, team, ring.freed, Cmp::ge, static_cast<std::uint64_t>(step) - 2)) return;
    put_signal(block, team, box, passing, ring.arrived, 1, SignalOp::add, right);
    // The box that was just passed on, step - 1's, is free for the left neighbour.
    if (step > 1) signal(block, team, ring.freed, 1, SignalOp::add, left);
    if (!wait_until(block, team, ring.arrived, Cmp::ge, static_cast<std::uint64_t>(step))) return;
    for (std::size_t i = block.thread_rank(); i < n; i += block.size()) ring.values[i] += box[i];
    passing = box;
  }
}

ISOTOPE_MAIN(argc, argv) {
  World world = init();
  constexpr std::size_t kCount = 1000;
  auto values = world.alloc<long>(kCount);
  auto boxes = world.alloc<long>(2 * kCount);
  auto signals = world.alloc_zeroed<Signal>(2);
  std::vector<long> mine(kCount);
  for (std::size_t i = 0; i < kCount; ++i) mine[i] = static_cast<long>(i) * (world.rank() + 1);
  values.write(mine);

  world.launch<ring_sum>({.grid = 1, .block = 128}, world.team(),
                         RingArguments{values.span(), boxes.span(), signals.data(), signals.data() + 1});
  world.synchronize();

  const long ranks = static_cast<long>(world.size()) * (world.size() + 1) / 2;
  const std::vector<long> sums = values.read();
  for (std::size_t i = 0; i < kCount; ++i) {
    if (sums[i] != static_cast<long>(i) * ranks) {
      std::fprintf(stderr, "PE %d: element %zu is %ld, expected %ld\n", world.rank(), i, sums[i],
                   static_cast<long>(i) * ranks);
      return 1;
    }
  }
  std::printf("PE %d: %zu sums over %d PEs are right\n", world.rank(), kCount, world.size());
  return 0;
}
