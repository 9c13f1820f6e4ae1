// Collectives of teams: strided, reversed, lists, teams of teams, and two teams side by side in one Collectives.
#include <algorithm>
#include <numeric>
#include <vector>

#include "isotope/host/choice.hpp"
#include "support/collective_rig.hpp"
#include "support/job_shape.hpp"

namespace isotope {
namespace {

using testing::CollectiveRig;
using testing::Layout;

class CollectiveTeams : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveTeams);

/// All algorithms of all collectives on a team, by its members. Collective over the World, each PE with its own team or
/// none.
void check_team(World& world, const Team& team) {
  CollectiveRig rig(world, team, 2 * CollectiveRig::kSlotBytes * static_cast<std::size_t>(world.size()));
  if (team.size() == 0) {
    rig.expect_refused({Collective::all_reduce, Algo::one_shot}, {.count = 3}, Code::invalid_argument,
                       "no member of the team");
    EXPECT_THROW(rig.coll().collect(reinterpret_cast<int*>(rig.arena()), reinterpret_cast<int*>(rig.arena()), 1),
                 Error);
  } else {
    for (int c = 0; c < kCollectives; ++c) {
      const auto collective = static_cast<Collective>(c);
      const bool rooted = collective == Collective::reduce || collective == Collective::broadcast;
      for (const Algo algo : algorithms_of(collective)) {
        for (const Layout& layout : {Layout{61, 3, 1}, Layout{600}}) {
          for (int root = rooted ? 0 : team.size() - 1; root < team.size(); ++root) {
            CollectiveCall call{collective, algo, DataType::f32, ReduceOp::add, Accumulate::wide, rooted ? root : 0};
            rig.check<float>(call, layout);
            if (algo == Algo::lamport) continue;
            call.op = ReduceOp::max;
            rig.check<std::int32_t>(call, layout);
          }
        }
      }
    }
  }
  world.barrier();
}

TEST_P(CollectiveTeams, Strided) {
  run([](World& world) {
    const int size = world.size();
    const OwnedTeam even = world.split_strided(world.team(), 0, 2, (size + 1) / 2);
    check_team(world, even ? even.team() : Team());
    const OwnedTeam reversed = world.split_strided(world.team(), size - 1, -1, size);
    check_team(world, reversed.team());
    const OwnedTeam last = world.split_strided(world.team(), size - 1, 1, 1);
    check_team(world, last ? last.team() : Team());
  });
}

TEST_P(CollectiveTeams, ListsAndTeamsOfTeams) {
  run([](World& world) {
    std::vector<int> members(static_cast<std::size_t>(world.size()));
    std::iota(members.begin(), members.end(), 0);
    std::rotate(members.begin(), members.begin() + world.size() / 2, members.end());
    if (members.size() > 3) std::swap(members[0], members[1]);
    if (members.size() > 4) members.pop_back();
    const OwnedTeam list = world.split_list(world.team(), members);
    check_team(world, list ? list.team() : Team());
    // Its upper half, backwards.
    OwnedTeam inner;
    if (list) {
      std::vector<int> half;
      for (int rank = list.size() - 1; rank >= list.size() / 2; --rank) half.push_back(rank);
      inner = world.split_list(list.team(), half);
    }
    check_team(world, inner ? inner.team() : Team());
  });
}

// Each PE with the half that it is in; both work at once, and make different numbers of calls.
TEST_P(CollectiveTeams, TwoShareACollectives) {
  run([](World& world) {
    const int size = world.size(), me = world.rank();
    const OwnedTeam low = world.split_strided(world.team(), 0, 1, (size + 1) / 2);
    const OwnedTeam odd = size > 1 ? world.split_strided(world.team(), size - 1, -1, size / 2) : OwnedTeam();
    const Team team = low ? low.team() : odd.team();
    CollectiveRig rig(world, team, 2 * CollectiveRig::kSlotBytes * static_cast<std::size_t>(size));
    for (int again = 0; again < (me < (size + 1) / 2 ? 20 : 33); ++again) {
      for (const Algo algo : algorithms_of(Collective::all_reduce))
        rig.check<float>({Collective::all_reduce, algo},
                         {.count = static_cast<std::size_t>(100 + 20 * again), .dst_shift = 1});
    }
    world.barrier();
  });
}

}  // namespace
}  // namespace isotope
