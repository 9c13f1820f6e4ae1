// Lines of 128 bytes that the lanes of a warp send together (ll128 where lines land whole), by their twin in
// platform/line_by_exchange.hpp: for the checker, which sees each word of them.
#include <isotope/isotope.hpp>

using namespace isotope;

namespace {

constexpr std::size_t kCount = 37;  // two lines, one of them not full
constexpr float kNothing = -1;
constexpr int kRounds = 4;
ISOTOPE_HD float value(int round, int pe, std::size_t i) {
  return static_cast<float>(round * 10000 + pe * 1000 + static_cast<int>(i));
}

/// Four in a row: the third and the fourth use the slots of the first two again, with other numbers.
ISOTOPE_KERNEL void sums(Team team, Workspace workspace, float* dst, float* src) {
  const Warp warp = this_warp();
  const Channel channel = workspace.channel(0);
  const detail::Stage<Warp> on{warp, team, channel, {"lines", CallSite::current()}};
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = warp.thread_rank(); i < kCount; i += warp.size()) src[i] = value(round, team.rank(), i);
    warp.sync();
    if (!detail::reduce_packets<detail::Ll128Lanes, true>(
            on, Reduction<float, ReduceOp::add>{},
            reinterpret_cast<char*>(dst + static_cast<std::size_t>(round) * kCount), reinterpret_cast<const char*>(src),
            {kCount, 0}))
      return;
  }
}

}  // namespace

ISOTOPE_MAIN(argc, argv) {
  World world = init();
  Collectives coll(world, {.channels = 1, .slot_bytes = 1920});
  auto src = world.alloc<float>(kCount), dst = world.alloc<float>(kCount * kRounds);
  for (float& x : dst.span()) x = kNothing;
  world.barrier();
  world.launch<sums>({.block = 32}, world.team(), coll.workspace(), dst.data(), src.data());
  world.synchronize();
  for (std::size_t at = 0; at < dst.size(); ++at) {
    float sum = 0;
    for (int k = 0; k < world.size(); ++k) sum += value(static_cast<int>(at / kCount), k, at % kCount);
    if (dst[at] != sum) return 1;
  }
  return 0;
}
