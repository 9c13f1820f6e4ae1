// Lines of 128 bytes that the lanes of a warp send together (ll128 where lines land whole): called by name here, since
// on most platforms nobody else does. On the CPU what lands is the twin in platform/line_by_exchange.hpp; on a GPU this
// is also the search for a line that came in pieces.
#include <chrono>
#include <cstdint>
#include <string>

#include "support/collective_mix.hpp"
#include "support/job_shape.hpp"

namespace isotope {
namespace {

using testing::lateness;

class CollectiveLines : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveLines);

constexpr std::size_t kSlotBytes = 1920, kGuard = 16;

/// Word i of what a member brings to a round: no two alike, so a word of an older round shows.
ISOTOPE_HD std::uint64_t word_of(std::uint64_t round, int member, std::size_t i) {
  return round * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(member + 1) * 0x10001 + i * 0x100000001b3ull;
}

struct Plan {
  std::uint64_t seed, rounds;
  std::size_t most;  // elements of a member, at most
};

template <Group G>
ISOTOPE_HD bool gather(const detail::Stage<G>& on, char* dst, const char* src, std::size_t bytes) {
  return detail::exchange_packets<detail::Ll128Lanes, true>(on, dst, src, detail::Blocks{bytes, bytes});
}
template <class T, Group G>
ISOTOPE_HD bool sum(const detail::Stage<G>& on, char* dst, const char* src, std::size_t count) {
  return detail::reduce_packets<detail::Ll128Lanes, true>(on, Reduction<T, ReduceOp::add>{}, dst, src,
                                                          detail::Blocks{count, 0});
}

/// Rounds of sums and gathers of integers, by turns, of all lengths: each word is looked at in each round.
template <class T, Group G>
ISOTOPE_HD void all_rounds(G group, const Team& team, const Channel& channel, const Plan& plan, T* dst, T* src,
                           std::uint64_t* wrong) {
  const int me = team.rank(), members = team.size();
  const detail::Stage<G> on{group, team, channel, {"lines", CallSite::current()}};
  for (std::uint64_t round = 1; round <= plan.rounds; ++round) {
    testing::Mixer random(plan.seed * 7919 + round);
    const bool gathers = random() % 2 == 0;
    const std::size_t n = random() % 3 == 0 ? random() % 70 : random() % (plan.most + 1);
    const std::size_t out = gathers ? n * static_cast<std::size_t>(members) : n;
    for (std::size_t i = group.thread_rank(); i < n; i += group.size()) src[i] = static_cast<T>(word_of(round, me, i));
    for (std::size_t i = group.thread_rank(); i < out + kGuard; i += group.size()) dst[i] = static_cast<T>(0x55);
    group.sync();
    if (group.is_leader()) {
      const std::uint64_t late = lateness(plan.seed, round, me), begin = platform::clock_ns();
      for (std::uint32_t polls = 0; platform::clock_ns() - begin < late; ++polls) platform::relax(polls);
    }
    group.sync();
    auto* to = reinterpret_cast<char*>(dst);
    const auto* from = reinterpret_cast<const char*>(src);
    const bool well = gathers ? gather(on, to, from, n * sizeof(T)) : sum<T>(on, to, from, n);
    group.sync();
    for (std::size_t i = group.thread_rank(); i < out + kGuard; i += group.size()) {
      T expected = static_cast<T>(0x55);
      if (i < out && gathers) expected = static_cast<T>(word_of(round, static_cast<int>(i / n), i % n));
      if (i < out && !gathers) {
        std::uint64_t all = 0;
        for (int k = 0; k < members; ++k) all += word_of(round, k, i);
        expected = static_cast<T>(all);
      }
      if (!well || dst[i] != expected) fetch_add(wrong, std::uint64_t{1});
    }
    group.sync();
  }
}

template <class T>
ISOTOPE_KERNEL void by_block(Team team, Workspace workspace, Plan plan, T* dst, T* src, std::uint64_t* wrong) {
  all_rounds<T>(this_block(), team, workspace.channel(0), plan, dst, src, wrong);
}
/// Each warp on a channel of its own.
template <class T>
ISOTOPE_KERNEL void by_warps(Team team, Workspace workspace, Plan plan, std::size_t each, T* dst, T* src,
                             std::uint64_t* wrong) {
  const Warp warp = this_warp();
  plan.seed += warp.rank();
  all_rounds<T>(warp, team, workspace.channel(static_cast<int>(warp.rank())), plan, dst + warp.rank() * each,
                src + warp.rank() * each, wrong);
}

template <class T>
void try_all(World& world) {
  const bool gpu = world.drives_gpu();
  const std::size_t most = 3 * kSlotBytes / sizeof(T) / 2;  // two messages
  const std::size_t each = most * static_cast<std::size_t>(world.size()) + kGuard + 8;
  constexpr std::uint32_t kWarps = 3;
  auto dst = world.alloc<T>(each * kWarps), src = world.alloc<T>(each * kWarps);
  auto wrong = world.alloc_zeroed<std::uint64_t>(1);
  Collectives coll(world, {.channels = static_cast<int>(kWarps), .slot_bytes = kSlotBytes});
  for (const std::size_t skew : {std::size_t{0}, std::size_t{1}}) {
    const Plan plan{11 + skew, gpu ? 2000u : 20u, most};
    for (const std::uint32_t threads : {32u, 96u}) {
      world.launch<by_block<T>>({.block = threads}, world.team(), coll.workspace(), plan, dst.data() + skew,
                                src.data() + skew, wrong.data());
      world.synchronize();
      EXPECT_EQ(wrong.get(0), 0u) << threads << " threads, elements of " << sizeof(T) << ", skew " << skew;
    }
    world.launch<by_warps<T>>({.block = 32 * kWarps}, world.team(), coll.workspace(), plan, each, dst.data() + skew,
                              src.data() + skew, wrong.data());
    world.synchronize();
    EXPECT_EQ(wrong.get(0), 0u) << "by warps, elements of " << sizeof(T) << ", skew " << skew;
    wrong.set(0, 0);
  }
}

TEST_P(CollectiveLines, ComeWholeOfWords) { run(try_all<std::uint64_t>); }
TEST_P(CollectiveLines, ComeWholeOfBytes) { run(try_all<std::uint8_t>); }

// All lanes of a warp end the wait together, and one of those that lacked their part says what it waited for.
ISOTOPE_KERNEL void one_does_not_come(Team team, Workspace workspace, std::uint32_t* dst, const std::uint32_t* src,
                                      std::size_t n, std::uint32_t* told) {
  if (team.rank() == 0) return;
  const detail::Stage<Block> on{this_block(), team, workspace.channel(0), {"lines", CallSite::current()}};
  const bool well = sum<std::uint32_t>(on, reinterpret_cast<char*>(dst), reinterpret_cast<const char*>(src), n);
  if (!well) fetch_add(told, 1u);
}

TEST_P(CollectiveLines, EndTogetherWhereAMemberIsMissing) {
  InitOptions options;
  options.wait_deadline = std::chrono::milliseconds(300);
  run(
      [](World& world) {
        if (world.size() == 1) return;
        constexpr std::size_t kCount = 500;
        constexpr std::uint32_t kThreads = 64;
        auto dst = world.alloc_zeroed<std::uint32_t>(kCount), src = world.alloc_zeroed<std::uint32_t>(kCount);
        auto told = world.alloc_zeroed<std::uint32_t>(1);
        Collectives coll(world, {.channels = 1});
        world.launch<one_does_not_come>({.block = kThreads}, world.team(), coll.workspace(), dst.data(), src.data(),
                                        kCount, told.data());
        if (world.rank() == 0) return world.synchronize();
        try {
          world.synchronize();
          ADD_FAILURE() << "PE 0 did not come, and nobody missed it";
        } catch (const Error& error) {
          EXPECT_EQ(error.peer(), 0) << error.what();
          EXPECT_NE(std::string(error.what()).find("lines"), std::string::npos) << error.what();
        }
        EXPECT_EQ(told.get(0), kThreads);
      },
      options);
}

}  // namespace
}  // namespace isotope
