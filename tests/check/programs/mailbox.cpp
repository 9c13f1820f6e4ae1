// PE 0 fills PE 1's mailbox and raises a flag; PE 1 waits for the flag and reads. docs/checker.md finds the bug.
#include <isotope/isotope.hpp>

using namespace isotope;

ISOTOPE_KERNEL void mail(Team team, Span<int> box, Signal* full, bool repaired) {
  auto block = this_block();
  if (team.rank() == 0) {
    for (size_t i = block.thread_rank(); i < box.size(); i += block.size()) *team.at(&box[i], 1) = 7;
    block.sync();
    if (block.is_leader()) store(&team.at(full, 1)->value, 1, Order::release, repaired ? Scope::system : Scope::device);
  } else {
    if (!wait_until(block, team, full, Cmp::ge, 1)) return;
    for (size_t i = block.thread_rank(); i < box.size(); i += block.size()) box[i] += 1;
  }
}

ISOTOPE_MAIN(argc, argv) {
  World world = init();
  auto box = world.alloc_zeroed<int>(16);
  auto full = world.alloc_zeroed<Signal>(1);
  world.launch<mail>({.grid = 1, .block = 8}, world.team(), box.span(), full.data(), argc > 1);
  world.synchronize();
  return world.rank() == 1 && box[0] != 8 ? 1 : 0;
}
