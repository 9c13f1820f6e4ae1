// Every PE sends its block to the right neighbour and doubles what arrives from the left.
#include <cstdio>
#include <vector>

#include "isotope/isotope.hpp"

using namespace isotope;

ISOTOPE_KERNEL void shift(Team team, Span<float> out, Span<const float> in, Epoch arrived) {
  auto block = this_block();
  int right = (team.rank() + 1) % team.size();
  uint64_t round = arrived.next(block);                                         // counted on the device
  put_signal(block, team, out, in, arrived.signal(), 1, SignalOp::add, right);  // data, then signal, to one peer
  if (!wait_until(block, team, arrived.signal(), Cmp::ge, round)) return;       // false: gave up; the host will say why
  for (size_t i = block.thread_rank(); i < out.size(); i += block.size()) out[i] *= 2;
}

ISOTOPE_MAIN(argc, argv) {  // once per PE: a process, or a thread
  World world = init();
  auto in = world.alloc<float>(1 << 20), out = world.alloc<float>(1 << 20);
  auto arrived = world.alloc_epoch();
  in.write(std::vector<float>(in.size(), static_cast<float>(world.rank())));
  world.launch<shift>({.grid = 1, .block = 256}, world.team(), out.span(), in.span(), arrived.get());
  world.synchronize();  // throws isotope::Error naming the culprit, never hangs

  const int left = (world.rank() + world.size() - 1) % world.size();
  for (float x : out.read()) {
    if (x != 2.0f * static_cast<float>(left)) return 1;
  }
  std::printf("PE %d got PE %d's block\n", world.rank(), left);
  return 0;
}
