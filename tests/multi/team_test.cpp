// Teams: splits of every kind, translation, reuse of cells, and errors alike on every member.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "support/job_shape.hpp"

namespace isotope {
namespace {

class TeamTest : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(TeamTest);

ISOTOPE_KERNEL void sign_everywhere(Team team, int* cells, int mine) {
  for (int r = 0; r < team.size(); ++r) team.at(cells, r)[team.rank()] = mine;
}

/// Every member stores its world rank at the address of every other, by team arithmetic; then all check.
void check_addressing(World& world, const Team& team, Symmetric<int>& cells, const std::vector<int>& members) {
  ASSERT_EQ(team.size(), static_cast<int>(members.size()));
  for (int r = 0; r < team.size(); ++r) {
    EXPECT_EQ(team.world_rank(r), members[static_cast<std::size_t>(r)]);
    EXPECT_EQ(team.rank_of(members[static_cast<std::size_t>(r)]), r);
  }
  EXPECT_EQ(members[static_cast<std::size_t>(team.rank())], world.rank());
  world.barrier(team);
  world.launch<sign_everywhere>({}, team, cells.data(), 1000 + world.rank());
  world.synchronize();
  world.barrier(team);
  const std::vector<int> found = cells.read();
  for (int r = 0; r < team.size(); ++r) {
    EXPECT_EQ(found[static_cast<std::size_t>(r)], 1000 + members[static_cast<std::size_t>(r)]);
    // The same by the host's arithmetic.
    EXPECT_EQ(cells.read_from(team, r, static_cast<std::size_t>(team.rank()), 1),
              std::vector<int>{1000 + world.rank()});
  }
  world.barrier(team);
}

TEST_P(TeamTest, StridedForwardsAndBackwards) {
  run([](World& world) {
    auto cells = world.alloc_zeroed<int>(64);
    for (const int stride : {1, 2, 3, -1, -2}) {
      for (int start = 0; start < world.size(); ++start) {
        std::vector<int> members;
        for (int pe = start; pe >= 0 && pe < world.size(); pe += stride) members.push_back(pe);
        const OwnedTeam team = world.split_strided(world.team(), start, stride, static_cast<int>(members.size()));
        const bool member = std::find(members.begin(), members.end(), world.rank()) != members.end();
        ASSERT_EQ(static_cast<bool>(team), member);
        if (team) check_addressing(world, team.team(), cells, members);
        world.barrier();
      }
    }
  });
}

TEST_P(TeamTest, ArbitraryListKeepsItsOrder) {
  run([](World& world) {
    auto cells = world.alloc_zeroed<int>(64);
    std::vector<int> members(static_cast<std::size_t>(world.size()));
    std::iota(members.begin(), members.end(), 0);
    std::rotate(members.begin(), members.begin() + world.size() / 2, members.end());
    if (members.size() > 3) std::swap(members[0], members[1]);
    if (members.size() > 4) members.pop_back();
    const OwnedTeam team = world.split_list(world.team(), members);
    if (team) check_addressing(world, team.team(), cells, members);
    world.barrier();
    // A split of a split: its own reverse.
    if (team) {
      std::vector<int> reversed(static_cast<std::size_t>(team.size()));
      std::iota(reversed.rbegin(), reversed.rend(), 0);
      const OwnedTeam inner = world.split_list(team.team(), reversed);
      check_addressing(world, inner.team(), cells, {members.rbegin(), members.rend()});
      for (int r = 0; r < team.size(); ++r) EXPECT_EQ(translate(team.team(), r, inner.team()), team.size() - 1 - r);
    }
    world.barrier();
  });
}

TEST_P(TeamTest, TwoDimensional) {
  run([](World& world) {
    auto cells = world.alloc_zeroed<int>(64);
    for (int x_range = 1; x_range <= world.size(); ++x_range) {
      const Teams2d teams = world.split_2d(world.team(), x_range);
      std::vector<int> row, column;
      for (int pe = 0; pe < world.size(); ++pe) {
        if (pe / x_range == world.rank() / x_range) row.push_back(pe);
        if (pe % x_range == world.rank() % x_range) column.push_back(pe);
      }
      check_addressing(world, teams.row.team(), cells, row);
      world.barrier();
      check_addressing(world, teams.column.team(), cells, column);
      world.barrier();
    }
  });
}

// Far more teams over time than there are cells at once would allow if they leaked, and many at once.
TEST_P(TeamTest, CellsAreUsedAgain) {
  run([](World& world) {
    for (int round = 0; round < 300; ++round) {
      OwnedTeam team = world.split_strided(world.team(), 0, 1, world.size());
      world.barrier(team.team());
      if (round % 2 == 0) team.destroy();
    }
    std::vector<OwnedTeam> many;
    for (int i = 0; i < 200; ++i) many.push_back(world.split_strided(world.team(), 0, 1, 1 + i % world.size()));
    for (const OwnedTeam& team : many) {
      if (team) world.barrier(team.team());
    }
    world.barrier();
  });
}

TEST_P(TeamTest, DisjointTeamsWorkAtTheSameTime) {
  run([](World& world) {
    auto cells = world.alloc_zeroed<int>(64);
    const Teams2d teams = world.split_2d(world.team(), 2);
    const Team row = teams.row.team();
    // Each row at its own pace: no World call inside.
    for (int round = 0; round < 50 * (1 + world.rank() / 2); ++round) {
      cells.set(0, round * 10 + row.rank());
      world.barrier(row);
      for (int r = 0; r < row.size(); ++r) ASSERT_EQ(cells.read_from(row, r, 0, 1), std::vector<int>{round * 10 + r});
      world.barrier(row);
    }
  });
}

TEST_P(TeamTest, BadArgumentsFailOnEveryMember) {
  run([](World& world) {
    const auto code_of = [&](auto&& call) {
      try {
        call();
      } catch (const Error& error) {
        return error.code();
      }
      return Code::ok;
    };
    const Team all = world.team();
    EXPECT_EQ(code_of([&] { (void)world.split_strided(all, 0, 1, world.size() + 1); }), Code::out_of_range);
    EXPECT_EQ(code_of([&] { (void)world.split_strided(all, -1, 1, 1); }), Code::out_of_range);
    EXPECT_EQ(code_of([&] { (void)world.split_strided(all, 0, 1, 0); }), Code::out_of_range);
    EXPECT_EQ(code_of([&] { (void)world.split_list(all, {}); }), Code::out_of_range);
    EXPECT_EQ(code_of([&] { (void)world.split_list(all, {0, 0}); }), Code::out_of_range);
    EXPECT_EQ(code_of([&] { (void)world.split_list(all, {world.size()}); }), Code::out_of_range);
    EXPECT_EQ(code_of([&] { (void)world.split_2d(all, 0); }), Code::out_of_range);
    EXPECT_EQ(code_of([&] { (void)translate(all, world.size(), all); }), Code::out_of_range);
    if (world.size() > 1) {
      EXPECT_EQ(code_of([&] { (void)world.split_strided(all, 0, 1, 1 + world.rank() % 2); }), Code::mismatch);
    }
    EXPECT_EQ(code_of([&] { (void)OwnedTeam().team(); }), Code::invalid_argument);
    const OwnedTeam fine = world.split_strided(all, 0, 1, world.size());
    EXPECT_EQ(fine.size(), world.size());
  });
}

}  // namespace
}  // namespace isotope
