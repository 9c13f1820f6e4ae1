// The data goes by memcpy, and the flag after it releases nothing.
#include <cstring>

#include "corpus.hpp"

namespace corpus::memcpy_without_release {

template <bool Repaired>
ISOTOPE_KERNEL void send(Team team, Span<int> to, Span<int> from, std::uint64_t* flag) {
  if (team.rank() == 0) {
    std::memcpy(team.at(to.data(), 1), from.data(), from.size_bytes());
    store(team.at(flag, 1), 1, Repaired ? Order::release : Order::relaxed);
  } else if (wait_until(this_thread(), team, flag, Cmp::ge, 1)) {
    to[0] += 1;
  }
}

template <bool Repaired>
void program(World& world) {
  auto to = world.alloc_zeroed<int>(64), from = world.alloc_zeroed<int>(64);
  auto flag = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<send<Repaired>>({}, world.team(), to.span(), from.span(), flag.data());
  world.synchronize();
}
CORPUS_CASE(2, "race", "release missing");

}  // namespace corpus::memcpy_without_release
