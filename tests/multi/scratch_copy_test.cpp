// put and get that are given shared memory: the same results, whatever the scratch is good for; and on GPUs that have a
// copy engine, it is the engine that makes the copies it can make.
#include <cstring>
#include <vector>

#include "support/job_shape.hpp"
#include "support/scratch_copies.hpp"

namespace isotope {
namespace {

class ScratchCopy : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(ScratchCopy);

TEST_P(ScratchCopy, MovesEveryByteAndNoOther) {
  run([](World& world) {
    testing::scratch_copies(world, [](bool good, const std::string& what) { EXPECT_TRUE(good) << what; });
  });
}

// The engine's copy goes through the scratch, the ordinary one does not touch it.
constexpr std::size_t kBytes = 4096, kScratch = 16384;
constexpr char kUntouched = 0x3c;

struct EngineCase {
  std::size_t dst_skew = 0, src_skew = 0, scratch_skew = 0;
};
struct EngineSeen {
  int there, put, get;
};

template <Group G>
ISOTOPE_KERNEL void copy_both_ways(Team team, Span<char> inbox, Span<char> outbox, EngineCase one, EngineSeen* seen) {
  const G group{};
  const int right = (team.rank() + 1) % team.size();
  const Span<char> scratch = dynamic_shared<char>().subspan(one.scratch_skew, kScratch);
  const Span<char> in = inbox.subspan(one.dst_skew, kBytes), out = outbox.subspan(one.src_skew, kBytes);
  const auto clear = [&] {
    group.sync();
    for (std::size_t i = group.thread_rank(); i < scratch.size(); i += group.size()) scratch[i] = kUntouched;
    group.sync();
  };
  const auto touched = [&] {
    group.sync();
    int count = 0;
    for (std::size_t i = 0; i < scratch.size(); ++i) count += scratch[i] != kUntouched ? 1 : 0;
    return count;
  };
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const int there = 1;
#else
  const int there = 0;
#endif  // sm_90
  clear();
  put(group, team, in, out, right, scratch);
  const int by_put = touched();
  clear();
  get(group, team, in, out, right, scratch);
  const int by_get = touched();
  if (group.is_leader()) *seen = {there, by_put, by_get};
}

template <Group G>
void expect_engine(World& world, const EngineCase& one, bool suitable, std::uint32_t threads) {
  auto inbox = world.alloc<char>(kBytes + 128), outbox = world.alloc<char>(kBytes + 128);
  auto seen = world.alloc<EngineSeen>(1);
  outbox.write(std::vector<char>(outbox.size(), 0x11));
  world.barrier();
  world.launch<copy_both_ways<G>>({.block = threads, .shared_bytes = kScratch + 128}, world.team(), inbox.span(),
                                  outbox.span(), one, seen.data());
  world.synchronize();
  world.barrier();
  const EngineSeen found = seen.get(0);
  // All data fit the scratch at once, but for the engine's own words.
  const bool expected = suitable && found.there == 1;
  EXPECT_EQ(found.put >= static_cast<int>(kBytes), expected)
      << found.put << " bytes of the scratch were used by " << threads << " threads";
  EXPECT_EQ(found.get >= static_cast<int>(kBytes), expected)
      << found.get << " bytes of the scratch were used by " << threads << " threads";
  if (!expected) {
    EXPECT_EQ(found.put + found.get, 0);
  }
}

TEST_P(ScratchCopy, TheEngineMakesWhatItCan) {
  run([](World& world) {
    expect_engine<Block>(world, {}, true, 128);
    expect_engine<Warp>(world, {}, true, 32);
    expect_engine<Thread>(world, {}, true, 1);
    expect_engine<Block>(world, {.dst_skew = 16, .src_skew = 32}, true, 128);
    expect_engine<Block>(world, {.dst_skew = 8}, false, 128);
    expect_engine<Block>(world, {.src_skew = 4}, false, 128);
    expect_engine<Block>(world, {.scratch_skew = 64}, false, 128);
  });
}

}  // namespace
}  // namespace isotope
