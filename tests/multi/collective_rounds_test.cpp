// Many collectives one after another without the host between them, by PEs that run ahead and fall behind: slots, rounds and
// Lamport's clearing have to hold.
#include <unistd.h>

#include "support/collective_mix.hpp"
#include "support/job_shape.hpp"

namespace isotope {
namespace {

using testing::Finding;
using testing::Mixer;
using testing::mix_expected;
using testing::mix_value;
using testing::Pick;
using testing::pick_of;
using testing::story;

class CollectiveRounds : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveRounds);

constexpr std::uint64_t kRounds = 50;
constexpr std::size_t kSlotBytes = 1920;

/// Now and then this PE comes late.
void dawdle(std::uint64_t seed, std::uint64_t round, int pe) {
  Mixer random(seed * 104729 + round * 64 + static_cast<std::uint64_t>(pe));
  const std::uint64_t kind = random() % 6;
  if (kind == 0) ::usleep(static_cast<useconds_t>(random() % 400));
  if (kind == 1) {
    for (volatile std::uint64_t i = 0; i < random() % 20'000;) i = i + 1;
  }
}

ISOTOPE_KERNEL void all_rounds(Team team, Workspace workspace, std::uint64_t seed, std::uint64_t rounds, float* dst, float* src,
                               Finding* finding) {
  const Block block = this_block();
  testing::mix_rounds(
      block, team, workspace.channel(0), block.thread_rank(), block.size(), [&] { block.sync(); },
      [&](std::uint64_t round) { dawdle(seed, round, team.rank()); }, seed, rounds, dst, src, finding);
}

TEST_P(CollectiveRounds, InsideOneKernel) {
  run([](World& world) {
    const std::size_t most = testing::kMixMost * static_cast<std::size_t>(world.size()) + 8;
    auto dst = world.alloc<float>(most), src = world.alloc<float>(most);
    auto finding = world.alloc_zeroed<Finding>(1);
    Collectives coll(world, {.channels = 1, .slot_bytes = kSlotBytes});
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      const std::uint32_t threads = seed % 4 == 0 ? 33 : 1;
      world.launch<all_rounds>({.block = threads}, world.team(), coll.workspace(), seed, kRounds, dst.data(), src.data(),
                               finding.data());
      world.synchronize();
      ASSERT_EQ(finding[0].wrong, 0u) << story(seed, finding[0], world.size());
    }
  });
}

// Each call has buffers of its own, looked at when all is over. Callbacks between them hold this PE's stream up.
TEST_P(CollectiveRounds, OnAStream) {
  run([](World& world) {
    const int me = world.rank(), members = world.size();
    const std::size_t most = testing::kMixMost * static_cast<std::size_t>(members);
    auto dst = world.alloc<float>(most * kRounds), src = world.alloc<float>(most * kRounds);
    Collectives coll(world, {.channels = 1, .slot_bytes = kSlotBytes});
    Stream stream = world.create_stream();
    for (std::uint64_t seed = 101; seed <= 104; ++seed) {
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        for (std::size_t i = 0; i < most; ++i) {
          src[round * most + i] = mix_value(round, me, i);
          dst[round * most + i] = -1;
        }
      }
      world.barrier();
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const Pick pick = pick_of(seed, round, members);
        stream.call([=] { dawdle(seed, round, me); });
        coll.enqueue(stream, {pick.collective, pick.algo, DataType::f32, ReduceOp::add, Accumulate::wide,
                              pick.collective == Collective::reduce || pick.collective == Collective::broadcast ? pick.root : 0,
                              dst.data() + round * most, src.data() + round * most, pick.count});
      }
      stream.synchronize();
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const Pick pick = pick_of(seed, round, members);
        const std::size_t n = detail::elements_of(pick.collective, pick.count, members).dst;
        for (std::size_t i = 0; i < most; ++i) {
          const float expected = i < n ? mix_expected(pick, round, me, members, i) : -1;
          const float found = dst[round * most + i];
          ASSERT_EQ(found, expected) << story(seed, {1, round, i, found, expected}, members);
        }
      }
      world.barrier();
    }
  });
}

// A ring sends its first two messages to a neighbour it need not have heard from: the neighbour may still be reading what came
// in the round before, all the longer as that was much.
ISOTOPE_KERNEL void one_shot_then_ring(Team team, Workspace workspace, std::size_t n, float* dst, float* src, Finding* finding) {
  const Thread thread = this_thread();
  const int members = team.size();
  for (std::uint64_t round = 0; round < 40; ++round) {
    for (std::size_t i = 0; i < n; ++i) src[i] = mix_value(round, team.rank(), i);
    const Pick big{Collective::all_reduce, Algo::one_shot, n, 0};
    bool well = testing::make_pick(thread, team, workspace.channel(0), big, dst, src);
    for (int again = 0; again < 2; ++again) {
      const Pick small{again == 0 ? Collective::reduce_scatter : Collective::all_reduce, Algo::ring, 64, 0};
      well = testing::make_pick(thread, team, workspace.channel(0), small, dst + n, src) && well;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const float expected = mix_expected(big, round, team.rank(), members, i);
      if ((well && dst[i] == expected) || finding->wrong++ != 0) continue;
      *finding = {1, round, i, dst[i], expected};
    }
  }
}

TEST_P(CollectiveRounds, ARingLeavesSlowNeighboursTheirSlots) {
  run([](World& world) {
    constexpr std::size_t kCount = 48'000;
    Collectives coll(world, {.channels = 1, .slot_bytes = kCount * sizeof(float)});
    auto dst = world.alloc<float>(kCount + 64), src = world.alloc<float>(kCount + 64);
    auto finding = world.alloc_zeroed<Finding>(1);
    world.launch<one_shot_then_ring>({}, world.team(), coll.workspace(), kCount, dst.data(), src.data(), finding.data());
    world.synchronize();
    EXPECT_EQ(finding[0].wrong, 0u) << "round " << finding[0].round << ", element " << finding[0].index << " is "
                                    << finding[0].found << ", not " << finding[0].expected;
  });
}

}  // namespace
}  // namespace isotope
