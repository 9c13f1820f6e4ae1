// Every collective by every algorithm, called by the host and back to back on a stream: for the checker, which watches
// the library's kernels as it watches a program's own.
#include <isotope/host/choice.hpp>
#include <isotope/isotope.hpp>

using namespace isotope;

namespace {

constexpr std::size_t kCount = 5;

float value(int pe, std::size_t i) { return static_cast<float>(pe * 100 + static_cast<int>(i)); }

void fill(const Symmetric<float>& x, int pe) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = value(pe, i);
}

/// Whether dst has what the call gives this PE, for the collectives that are easily said.
bool right(const World& world, Collective collective, const Symmetric<float>& dst) {
  const int pes = world.size(), me = world.rank();
  for (std::size_t i = 0; i < kCount; ++i) {
    float sum = 0, before = 0;
    for (int k = 0; k < pes; ++k) {
      const std::size_t at = collective == Collective::reduce_scatter ? static_cast<std::size_t>(me) * kCount + i : i;
      sum += value(k, at);
      if (k < me) before += value(k, at);
    }
    float expected = sum;
    if (collective == Collective::broadcast || collective == Collective::all_gather) expected = value(0, i);
    if (collective == Collective::all_to_all) expected = value(0, static_cast<std::size_t>(me) * kCount + i);
    if (collective == Collective::inclusive_scan) expected = before + value(me, i);
    if (collective == Collective::exclusive_scan) expected = before;
    if ((collective != Collective::reduce || me == 0) && dst[i] != expected) return false;
  }
  return true;
}

}  // namespace

ISOTOPE_MAIN(argc, argv) {
  (void)argc, (void)argv;
  World world = init();
  Collectives coll(world, {.channels = 1, .slot_bytes = 1920});
  const auto all = kCount * static_cast<std::size_t>(world.size());
  auto src = world.alloc<float>(all), dst = world.alloc<float>(all);
  for (int c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    for (const Algo algo : algorithms_of(collective)) {
      fill(src, world.rank());
      CollectiveCall call{collective, algo,       DataType::f32, ReduceOp::add, Accumulate::wide,
                          0,          dst.data(), src.data(),    kCount};
      // Three in a row: the third uses the slots of the first again.
      for (int i = 0; i < 3; ++i) coll.enqueue({}, call);
      world.synchronize();
      if (!right(world, collective, dst)) return 1;
      world.barrier();
    }
  }
  return 0;
}
