// Many collectives one after another without the host between them, by PEs that run ahead and fall behind: slots,
// rounds and Lamport's clearing have to hold.
#include <chrono>
#include <thread>
#include <vector>

#include "support/collective_calls.hpp"
#include "support/collective_mix.hpp"
#include "support/job_shape.hpp"

namespace isotope {
namespace {

using testing::Finding;
using testing::lateness;
using testing::mix_expected;
using testing::mix_value;
using testing::Mixer;
using testing::Pick;
using testing::pick_of;
using testing::story;

class CollectiveRounds : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveRounds);

constexpr std::uint64_t kRounds = 50;
constexpr std::size_t kSlotBytes = 1920;

/// A kernel's way to come late.
ISOTOPE_HD void dawdle(std::uint64_t ns) {
  const std::uint64_t begin = platform::clock_ns();
  for (std::uint32_t polls = 0; platform::clock_ns() - begin < ns; ++polls) platform::relax(polls);
}

ISOTOPE_KERNEL void all_rounds(Team team, Workspace workspace, std::uint64_t seed, std::uint64_t rounds, float* dst,
                               float* src, Finding* finding) {
  const Block block = this_block();
  testing::mix_rounds<testing::Mix::all>(
      block, team, workspace.channel(0), block.thread_rank(), block.size(), [&] { block.sync(); },
      [&](std::uint64_t round) { dawdle(lateness(seed, round, team.rank())); }, seed, rounds, testing::Mix::all, dst,
      src, finding);
}

TEST_P(CollectiveRounds, InsideOneKernel) {
  run([](World& world) {
    const std::size_t most = testing::kMixMost * static_cast<std::size_t>(world.size()) + 8;
    auto dst = world.alloc<float>(most), src = world.alloc<float>(most);
    auto finding = world.alloc_zeroed<Finding>(1);
    Collectives coll(world, {.channels = 1, .slot_bytes = kSlotBytes});
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      const std::uint32_t threads = seed % 4 == 0 ? 33 : 1;
      world.launch<all_rounds>({.block = threads}, world.team(), coll.workspace(), seed, kRounds, dst.data(),
                               src.data(), finding.data());
      world.synchronize();
      ASSERT_EQ(finding.get(0).wrong, 0u) << story(seed, finding.get(0), world.size());
    }
  });
}

// Each call has buffers of its own, looked at when all is over. Callbacks between them hold this PE's stream up.
TEST_P(CollectiveRounds, OnAStream) {
  run([](World& world) {
    const int me = world.rank(), members = world.size();
    const std::size_t most = testing::kMixMost * static_cast<std::size_t>(members);
    std::vector<float> values(most * kRounds);
    auto dst = world.alloc<float>(most * kRounds), src = world.alloc<float>(most * kRounds);
    Collectives coll(world, {.channels = 1, .slot_bytes = kSlotBytes});
    Stream stream = world.create_stream();
    for (std::uint64_t seed = 101; seed <= 104; ++seed) {
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        for (std::size_t i = 0; i < most; ++i) values[round * most + i] = mix_value(round, me, i);
      }
      src.write(values);
      dst.write(std::vector<float>(values.size(), -1));
      world.barrier();
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const Pick pick = pick_of(seed, round, members);
        stream.call([=] { std::this_thread::sleep_for(std::chrono::nanoseconds(lateness(seed, round, me))); });
        const bool rooted = pick.collective == Collective::reduce || pick.collective == Collective::broadcast;
        testing::enqueue_any(
            coll, stream,
            {pick.collective, pick.algo, DataType::f32, ReduceOp::add, Accumulate::wide, rooted ? pick.root : 0,
             dst.data() + round * most, src.data() + round * most, pick.count});
      }
      stream.synchronize();
      const std::vector<float> results = dst.read();
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const Pick pick = pick_of(seed, round, members);
        const std::size_t n = detail::elements_of(pick.collective, pick.count, members).dst;
        for (std::size_t i = 0; i < most; ++i) {
          const float expected = i < n ? mix_expected(pick, round, me, members, i) : -1;
          const float found = results[round * most + i];
          ASSERT_EQ(found, expected) << story(seed, {1, round, i, found, expected}, members);
        }
      }
      world.barrier();
    }
  });
}

// A ring sends its first two messages to a neighbour it need not have heard from: the neighbour may still be reading
// what came in the round before, all the longer as that was much.
ISOTOPE_KERNEL void one_shot_then_ring(Team team, Workspace workspace, std::size_t n, float* dst, float* src,
                                       Finding* finding) {
  const Block block = this_block();
  const int members = team.size();
  for (std::uint64_t round = 0; round < 40; ++round) {
    for (std::size_t i = block.thread_rank(); i < n; i += block.size()) src[i] = mix_value(round, team.rank(), i);
    block.sync();
    const Pick big{Collective::all_reduce, Algo::one_shot, n, 0};
    bool well = testing::make_pick<testing::Mix::all>(block, team, workspace.channel(0), big, dst, src);
    for (int again = 0; again < 2; ++again) {
      const Pick small{again == 0 ? Collective::reduce_scatter : Collective::all_reduce, Algo::ring, 64, 0};
      well = testing::make_pick<testing::Mix::all>(block, team, workspace.channel(0), small, dst + n, src) && well;
    }
    block.sync();
    for (std::size_t i = block.thread_rank(); i < n; i += block.size()) {
      const float expected = mix_expected(big, round, team.rank(), members, i);
      if (!well || dst[i] != expected) testing::note(finding, {0, round, i, dst[i], expected});
    }
    block.sync();
  }
}

TEST_P(CollectiveRounds, ARingLeavesSlowNeighboursTheirSlots) {
  run([](World& world) {
    constexpr std::size_t kCount = 48'000;
    Collectives coll(world, {.channels = 1, .slot_bytes = kCount * sizeof(float)});
    auto dst = world.alloc<float>(kCount + 64), src = world.alloc<float>(kCount + 64);
    auto finding = world.alloc_zeroed<Finding>(1);
    const std::uint32_t threads = world.drives_gpu() ? 128 : 1;
    world.launch<one_shot_then_ring>({.block = threads}, world.team(), coll.workspace(), kCount, dst.data(), src.data(),
                                     finding.data());
    world.synchronize();
    const Finding first = finding.get(0);
    EXPECT_EQ(first.wrong, 0u) << "round " << first.round << ", element " << first.index << " is " << first.found
                               << ", not " << first.expected;
  });
}

// A root may be two messages ahead of the others, and no more: here it never waits for them, and they come late. The
// next root was one of those.
ISOTOPE_KERNEL void eager_broadcasts(Team team, Workspace workspace, std::size_t most, float* dst, float* src,
                                     Finding* finding) {
  const Block block = this_block();
  for (std::uint64_t round = 0; round < 80; ++round) {
    const int root = static_cast<int>(round / 10 % static_cast<std::uint64_t>(team.size()));
    const std::size_t n = round % 4 == 3 ? most : 1 + round * 37 % 480;  // several slots; one
    if (team.rank() == root) {
      for (std::size_t i = block.thread_rank(); i < n; i += block.size()) src[i] = mix_value(round, root, i);
    } else if (block.is_leader()) {
      dawdle(round % 3 * 20'000);
    }
    block.sync();
    const Pick pick{Collective::broadcast, Algo::eager, n, root};
    const bool well =
        testing::make_one<Collective::broadcast, Algo::eager>(block, team, workspace.channel(0), pick, dst, src);
    for (std::size_t i = block.thread_rank(); i < n; i += block.size()) {
      const float expected = mix_value(round, root, i);
      if (!well || dst[i] != expected) testing::note(finding, {0, round, i, dst[i], expected});
    }
    block.sync();
  }
}

TEST_P(CollectiveRounds, ARootAhead) {
  run([](World& world) {
    constexpr std::size_t kMost = 2000;  // 8000 bytes
    auto dst = world.alloc<float>(kMost), src = world.alloc<float>(kMost);
    auto finding = world.alloc_zeroed<Finding>(1);
    Collectives coll(world, {.channels = 1, .slot_bytes = kSlotBytes});
    for (const std::uint32_t threads : {1u, 33u}) {
      world.launch<eager_broadcasts>({.block = threads}, world.team(), coll.workspace(), kMost, dst.data(), src.data(),
                                     finding.data());
      world.synchronize();
      const Finding found = finding.get(0);
      ASSERT_EQ(found.wrong, 0u) << "element " << found.index << " is " << found.found << ", not " << found.expected
                                 << " in round " << found.round;
    }
  });
}

// Calls by more blocks than there are lines to share out, where a GPU's kernels have them: those without a part leave,
// and are back in the next call.
TEST_P(CollectiveRounds, MoreBlocksThanLines) {
  run([](World& world) {
    constexpr Algo kAlgos[] = {Algo::ll8, Algo::lamport, Algo::ll16, Algo::one_shot};
    constexpr std::size_t kCounts[] = {1, 40, 480, 0, 700}, kMost = 700, kCalls = 60;
    constexpr float kPoison = -1;
    auto dst = world.alloc<float>(kMost * kCalls), src = world.alloc<float>(kMost);
    Collectives coll(world, {.channels = 4, .slot_bytes = kSlotBytes});
    std::vector<float> values(kMost);
    for (std::size_t i = 0; i < kMost; ++i) values[i] = mix_value(0, world.rank(), i);
    src.write(values);
    dst.write(std::vector<float>(kMost * kCalls, kPoison));
    world.barrier();
    for (std::size_t call = 0; call < kCalls; ++call) {
      on_stream::all_reduce(coll, Stream(), dst.data() + call * kMost, src.data(), kCounts[call % 5], ReduceOp::add,
                            {.algo = kAlgos[call % 4], .blocks = 4});
    }
    world.synchronize();
    const std::vector<float> found = dst.read();
    for (std::size_t at = 0; at < found.size(); ++at) {
      const std::size_t call = at / kMost, i = at % kMost, n = kCounts[call % 5];
      const Pick pick{Collective::all_reduce, kAlgos[call % 4], n, 0};
      ASSERT_EQ(found[at], i < n ? mix_expected(pick, 0, world.rank(), world.size(), i) : kPoison)
          << "element " << i << " of " << n << ", call " << call << ", " << name_of(pick.algo);
    }
    world.barrier();
  });
}

}  // namespace
}  // namespace isotope
