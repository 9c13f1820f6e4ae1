// What tests do with symmetric memory from the host, on every platform: fill it, and look at everyone's.
//
//   auto inbox = world.alloc<std::uint64_t>(8);
//   fill(inbox, kPoison);
//   world.barrier();
//   ... launch, synchronize ...
//   const std::vector<std::uint64_t> all = gather(world, inbox);      // PE 0's elements, PE 1's, ...
#pragma once

#include <cstddef>
#include <vector>

#include "isotope/isotope.hpp"

namespace isotope::testing {

/// Every element of this PE.
template <class T>
void fill(const Symmetric<T>& object, const T& value) {
  object.write(std::vector<T>(object.size(), value));
}

template <class T>
ISOTOPE_KERNEL void gather_all(Team team, Span<T> mine, Span<T> all) {
  const Block block = this_block();
  if (!barrier(block, team)) return;
  for (int pe = 0; pe < team.size(); ++pe)
    get(block, team, all.subspan(static_cast<std::size_t>(pe) * mine.size(), mine.size()), mine, pe);
  barrier(block, team);
}

/// The elements of all PEs, by PE. Collective.
template <class T>
std::vector<T> gather(World& world, const Symmetric<T>& object) {
  auto all = world.alloc<T>(object.size() * static_cast<std::size_t>(world.size()));
  world.launch<gather_all<T>>({.block = 32}, world.team(), object.span(), all.span());
  world.synchronize();
  return all.read();
}

}  // namespace isotope::testing
