// Barriers, syncs, arrivals and grid_sync, by threads, warps and blocks, in blocks and grids of many sizes.
#include <cstdint>

#include "support/job_shape.hpp"
#include "support/symmetric.hpp"

namespace isotope {
namespace {

using testing::fill;

class GroupSync : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(GroupSync);
// Barriers of many members go another way.
static_assert(detail::kAllToAll < 17);
INSTANTIATE_TEST_SUITE_P(Many, GroupSync, ::testing::Values(testing::JobShape{17, false}, testing::JobShape{20, true}),
                         testing::shape_name);

constexpr std::size_t kMaxPes = 20;
constexpr std::size_t kWriters = 4;  // threads of a group that write a word of their own
constexpr std::uint64_t kPoison = 0xdeadbeefdeadbeefu;
constexpr std::size_t kBoardWords = 2 * kTeamBarriers * kMaxPes * kWriters;

ISOTOPE_HD std::uint64_t value_of(int from, int index, std::uint64_t round, std::size_t writer) {
  return (((round * 32 + static_cast<std::uint64_t>(from)) * 256 + static_cast<std::uint64_t>(index)) * kWriters +
          writer + 1) *
         0x9e3779b97f4a7c15u;
}

enum class Case { barrier, sync, arrive, session };

/// What a case keeps from round to round.
template <Case C, Group G>
struct Kept {
  ISOTOPE_HD Kept(G, const Team&, int) {}
};
template <Group G>
struct Kept<Case::session, G> {
  SyncSession<G> session;
  ISOTOPE_HD Kept(G group, const Team& team, int index) : session(group, team, index) {}
};

/// A group that meets its counterparts at barrier `index`, round after round. In each it writes to every member before,
/// and every thread of it reads what every member has written after. `board` is [parity][index][PE][writer].
template <Case C, Group G>
ISOTOPE_HD void meet(G group, const Team& team, int index, std::uint64_t rounds, Span<std::uint64_t> board,
                     Span<std::uint64_t> wrong) {
  const int me = team.rank();
  const auto word = [&](std::uint64_t round, int pe, std::size_t writer) {
    return &board[((round % 2 * kTeamBarriers + static_cast<std::size_t>(index)) * kMaxPes +
                   static_cast<std::size_t>(pe)) *
                      kWriters +
                  writer];
  };
  // The last threads write: a leader that runs ahead of them would be seen.
  const std::size_t writers = group.size() < kWriters ? group.size() : kWriters;
  const std::size_t writer = group.size() - 1 - group.thread_rank();
  [[maybe_unused]] Kept<C, G> kept(group, team, index);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    for (int to = 0; to < team.size() && writer < writers; ++to)
      p(team, word(round, me, writer), value_of(me, index, round, writer), to);
    bool met = false;
    if constexpr (C == Case::session) met = round % 2 == 0 ? kept.session.sync() : kept.session.barrier();
    if constexpr (C == Case::barrier) met = barrier(group, team, index);
    if constexpr (C == Case::sync) met = sync(group, team, index);
    if constexpr (C == Case::arrive) {
      const Arrival here = arrive(group, team, index);
      met = wait(group, team, here);
    }
    if (!met) return;
    for (int from = 0; from < team.size(); ++from) {
      for (std::size_t i = 0; i < writers; ++i) {
        if (*word(round, from, i) != value_of(from, index, round, i)) fetch_add(&wrong[0], 1u);
      }
    }
  }
}

// Threads past the last index have none to meet at.
template <Case C, Group G>
ISOTOPE_KERNEL void all_meet(Team team, std::uint64_t rounds, Span<std::uint64_t> board, Span<std::uint64_t> wrong) {
  std::uint32_t index = 0;
  if constexpr (std::same_as<G, Thread>) index = this_block().thread_rank();
  if constexpr (std::same_as<G, Warp>) index = this_warp().rank();
  if (index < kTeamBarriers) meet<C>(G{}, team, static_cast<int>(index), rounds, board, wrong);
}

template <Case C, Group G>
void run_scope(World& world, const char* scope) {
  auto board = world.alloc<std::uint64_t>(kBoardWords);
  auto wrong = world.alloc_zeroed<std::uint64_t>(1);
  for (const std::uint32_t threads : {1u, 32u, 48u, 128u, 1024u}) {
    for (const std::uint64_t rounds : {1u, 4u}) {  // an odd number of rounds in all
      fill(board, kPoison);
      world.barrier();
      world.launch<all_meet<C, G>>({.block = threads}, world.team(), rounds, board.span(), wrong.span());
      world.synchronize();
      EXPECT_EQ(wrong.get(0), 0u) << scope << ", " << threads << " threads, " << rounds << " rounds";
      wrong.set(0, 0);
      world.barrier();
    }
  }
}

template <Case C>
void run_case(World& world) {
  run_scope<C, Thread>(world, "thread");
  run_scope<C, Warp>(world, "warp");
  run_scope<C, Block>(world, "block");
}

TEST_P(GroupSync, Barrier) {
  run([](World& world) { run_case<Case::barrier>(world); });
}
TEST_P(GroupSync, Sync) {
  run([](World& world) { run_case<Case::sync>(world); });
}
TEST_P(GroupSync, ArriveAndWait) {
  run([](World& world) { run_case<Case::arrive>(world); });
}
TEST_P(GroupSync, Session) {
  run([](World& world) { run_case<Case::session>(world); });
}

// Sessions, syncs and sessions again at one index, half of the members the other way round: all count the same rounds.
ISOTOPE_KERNEL void take_turns(Team team, Span<std::uint64_t> board, Span<std::uint64_t> wrong) {
  const Block block = this_block();
  for (int turn = 0; turn < 4; ++turn) {
    if ((turn + team.rank()) % 2 == 0) {
      meet<Case::session>(block, team, 3, 3, board, wrong);
    } else {
      meet<Case::sync>(block, team, 3, 3, board, wrong);
    }
    // The next turn begins with the same half of the board that this one ended with.
    if (!barrier(block, team, 4)) return;
  }
}
TEST_P(GroupSync, SessionsAndSyncsTakeTurns) {
  run([](World& world) {
    auto board = world.alloc<std::uint64_t>(kBoardWords);
    auto wrong = world.alloc_zeroed<std::uint64_t>(1);
    fill(board, kPoison);
    world.barrier();
    for (const std::uint32_t threads : {1u, 5u, 64u}) {
      world.launch<take_turns>({.block = threads}, world.team(), board.span(), wrong.span());
      world.synchronize();
    }
    EXPECT_EQ(wrong.get(0), 0u);
    world.barrier();
  });
}

// ---- several blocks at once -----------------------------------------------------------------------------------------
// Every block at an index of its own, then every warp: each makes another number of rounds, so that an index shared by
// mistake is out of step at once.
ISOTOPE_KERNEL void blocks_meet(Team team, Span<std::uint64_t> board, Span<std::uint64_t> wrong) {
  const Block block = this_block();
  const Warp warp = this_warp();
  const std::uint32_t warps = (block.size() + kWarpSize - 1) / kWarpSize;
  meet<Case::barrier>(block, team, static_cast<int>(block.rank()), 3 + 2 * block.rank(), board, wrong);
  const std::uint32_t unit = block.rank() * warps + warp.rank();
  meet<Case::sync>(warp, team, static_cast<int>(kTeamBarriers - 1 - unit), 2 + 3 * (unit % 5), board, wrong);
}

TEST_P(GroupSync, BlocksMeetAtDifferentIndices) {
  run([](World& world) {
    auto board = world.alloc<std::uint64_t>(kBoardWords);
    auto wrong = world.alloc_zeroed<std::uint64_t>(1);
    for (const std::uint32_t blocks : {1u, 4u, 9u}) {
      for (const std::uint32_t threads : {1u, 48u, 100u}) {
        fill(board, kPoison);
        world.barrier();
        world.launch<blocks_meet>({.grid = blocks, .block = threads}, world.team(), board.span(), wrong.span());
        world.synchronize();
        EXPECT_EQ(wrong.get(0), 0u) << blocks << " blocks of " << threads;
        wrong.set(0, 0);
        world.barrier();
      }
    }
  });
}

// ---- grid_sync ------------------------------------------------------------------------------------------------------
constexpr std::uint64_t kGridRounds = 25;

// Every thread of a block writes, every thread of all blocks reads. `marks` is [parity][block][thread].
ISOTOPE_KERNEL void grid_meets(Team team, Span<std::uint64_t> marks, Span<std::uint64_t> wrong) {
  const Block block = this_block();
  const std::size_t all = std::size_t{block.grid_size()} * block.size();
  const std::size_t mine = std::size_t{block.rank()} * block.size() + block.thread_rank();
  for (std::uint64_t round = 1; round <= kGridRounds; ++round) {
    const Span<std::uint64_t> now = marks.subspan(round % 2 * all, all);
    now[mine] = value_of(team.rank(), 0, round, mine);
    if (!grid_sync(team)) return;
    for (std::size_t i = 0; i < all; ++i) {
      if (now[i] != value_of(team.rank(), 0, round, i)) fetch_add(&wrong[0], 1u);
    }
  }
}

TEST_P(GroupSync, GridsOfDifferentSizesOneAfterAnother) {
  run([](World& world) {
    auto marks = world.alloc<std::uint64_t>(2 * 7 * 48);
    auto wrong = world.alloc_zeroed<std::uint64_t>(1);
    for (int again = 0; again < 2; ++again) {
      for (const std::uint32_t blocks : {1u, 3u, 7u, 2u}) {
        for (const std::uint32_t threads : {1u, 33u, 48u}) {
          fill(marks, kPoison);
          world.launch<grid_meets>({.grid = blocks, .block = threads}, world.team(), marks.span(), wrong.span());
          world.synchronize();
          EXPECT_EQ(wrong.get(0), 0u) << blocks << " blocks of " << threads;
          wrong.set(0, 0);
        }
      }
    }
    world.barrier();
  });
}

}  // namespace
}  // namespace isotope
