// Every collective by every algorithm, called by the host and back to back on a stream: for the checker, which watches
// the library's kernels as it watches a program's own.
#include <isotope/host/choice.hpp>
#include <isotope/isotope.hpp>

using namespace isotope;

namespace {

constexpr std::size_t kCount = 5;
constexpr int kInARow = 4;  // the third and the fourth use the slots of the first two again
constexpr float kNothing = -1;

/// What no call before brought: who reads what an earlier one left has a wrong result. Small enough for exact sums.
float value(int call, int pe, std::size_t i) {
  return static_cast<float>(call * 997 % 4099 * 512 + pe * 64 + static_cast<int>(i));
}

/// Whether dst has what that call gives this PE, for the collectives that are easily said.
bool right(const World& world, Collective collective, int call, const float* dst) {
  const int pes = world.size(), me = world.rank();
  for (std::size_t i = 0; i < kCount; ++i) {
    float sum = 0, before = 0;
    for (int k = 0; k < pes; ++k) {
      const std::size_t at = collective == Collective::reduce_scatter ? static_cast<std::size_t>(me) * kCount + i : i;
      sum += value(call, k, at);
      if (k < me) before += value(call, k, at);
    }
    float expected = sum;
    if (collective == Collective::broadcast || collective == Collective::all_gather) expected = value(call, 0, i);
    if (collective == Collective::all_to_all) expected = value(call, 0, static_cast<std::size_t>(me) * kCount + i);
    if (collective == Collective::inclusive_scan) expected = before + value(call, me, i);
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
  auto src = world.alloc<float>(all * kInARow), dst = world.alloc<float>(all * kInARow);
  int calls = 0;
  for (int c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    for (const Algo algo : algorithms_of(collective)) {
      for (std::size_t i = 0; i < src.size(); ++i) {
        src[i] = value(calls + static_cast<int>(i / all), world.rank(), i % all);
        dst[i] = kNothing;
      }
      world.barrier();
      for (std::size_t i = 0; i < kInARow; ++i) {
        coll.enqueue({}, {collective, algo, DataType::f32, ReduceOp::add, Accumulate::wide, 0, dst.data() + i * all,
                          src.data() + i * all, kCount});
      }
      world.synchronize();
      for (int i = 0; i < kInARow; ++i)
        if (!right(world, collective, calls + i, dst.data() + static_cast<std::size_t>(i) * all)) return 1;
      calls += kInARow;
      world.barrier();
    }
  }
  return 0;
}
