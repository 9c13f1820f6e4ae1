// Teams whose members drive different GPUs that can multicast have addresses for it, over all memory there is and will
// be.
#include "gpu_job.hpp"
#include "isotope/isotope.h"
#include "segment.hpp"

namespace isotope {
namespace {

constexpr std::size_t kGranule = std::size_t{2} << 20;

class GpuMulticast : public testing::GpuJobTest {
 protected:
  void SetUp() override {
    GpuJobTest::SetUp();
    fake_cuda::reset({.multicast = true});
  }
  /// One object for all members: what one writes at its multicast address the others find at theirs. Everyone's memory
  /// is bound behind it, `bytes` each.
  static void one_for_all(World& world, const Team& team, const Symmetric<int>& x, std::size_t i, std::uint64_t bytes,
                          int value) {
    int* all = team.multicast(x.data() + i);
    if (team.size() < 2) {
      EXPECT_EQ(all, nullptr) << "alone";
      world.barrier();
      world.barrier();
      return;
    }
    ASSERT_NE(all, nullptr);
    if (bytes != 0) {
      EXPECT_EQ(fake_cuda::bound_to_multicast(all), bytes * static_cast<std::uint64_t>(team.size()));
    }
    if (team.rank() == team.size() - 1) *all = value + team.world_rank(0);
    world.barrier();
    EXPECT_EQ(*team.multicast(x.data() + i), value + team.world_rank(0));
    world.barrier();
  }
};
ISOTOPE_ALL_SHAPES(GpuMulticast);

TEST_P(GpuMulticast, WorldReachesTheHeapAsItGrows) {
  run([](World& world) {
    auto x = world.alloc<int>(1000);
    one_for_all(world, world.team(), x, 7, 64 << 20, 100);
    auto y = world.alloc<int>((70 << 20) / sizeof(int));
    one_for_all(world, world.team(), y, y.size() - 1, 0, 200);
    one_for_all(world, world.team(), x, 8, 64 << 20, 300);
  });
}

TEST_P(GpuMulticast, SplitsReachWhatWasThereAndWhatComes) {
  run([](World& world) {
    auto x = world.alloc<int>(1000);
    const Teams2d teams = world.split_2d(world.team(), 2);
    one_for_all(world, teams.row.team(), x, 1, 64 << 20, 100);
    one_for_all(world, teams.column.team(), x, 2, 64 << 20, 200);
    auto y = world.alloc<int>((70 << 20) / sizeof(int));
    one_for_all(world, teams.column.team(), y, 3, 0, 300);
    one_for_all(world, teams.row.team(), y, 4, 0, 400);
    one_for_all(world, world.team(), y, 5, 0, 500);
  });
}

// Handles go at different times; teams that some have let go of do not stand in the way of growth, and at last nothing
// is left.
TEST_P(GpuMulticast, TeamsComeAndGo) {
  run([](World& world) {
    auto x = world.alloc<int>(1000);
    const auto before = live_on_all(world);
    for (int round = 0; round < 2; ++round) {
      OwnedTeam team = world.split_strided(world.team(), 0, 1, world.size());
      one_for_all(world, team.team(), x, 1, 64 << 20, round);
      if (world.rank() % 2 == round % 2) team = {};
      auto y = world.alloc<int>(((65u + 65u * static_cast<unsigned>(round)) << 20) / sizeof(int));
      one_for_all(world, world.team(), y, y.size() - 1, 0, 100 + round);
      if (team) {
        EXPECT_EQ(team.team().multicast(y.data()) != nullptr, world.size() > 1);
      }
      team = {};
      world.free(y);
    }
    // The next growth notices that all have let go of all of them.
    auto z = world.alloc<char>(195 << 20);
    const auto after = live_on_all(world);
    EXPECT_EQ(after.reservations, before.reservations) << before << " then " << after;
  });
}

TEST_P(GpuMulticast, RegisteredMemory) {
  run([](World& world) {
    const OwnedTeam team = world.split_strided(world.team(), 0, 1, world.size());
    const std::size_t first = (static_cast<std::size_t>(world.rank()) % 3 + 1) * kGranule;
    const fake_cuda::Segment segment(world.rank() % 8, {first, 2 * kGranule});
    constexpr std::size_t kCount = kGranule / sizeof(int);  // begins in one allocation and ends in the next
    const auto before = live_on_all(world);
    for (int round = 0; round < 2; ++round) {
      auto x =
          world.register_memory(Span<int>(reinterpret_cast<int*>(segment.data() + first - kGranule + 512), kCount));
      one_for_all(world, world.team(), x, 0, 0, 10);
      one_for_all(world, team.team(), x, kCount - 1, 0, 20);
      const OwnedTeam late = world.split_strided(world.team(), world.size() - 1, -1, world.size());
      one_for_all(world, late.team(), x, 9, 0, 30);
      world.free(x);
    }
    const OwnedTeam again = world.split_strided(world.team(), 0, 1, world.size());  // takes the place of `late`
    const auto after = live_on_all(world);
    EXPECT_EQ(after.handles, before.handles) << before << " then " << after;
  });
}

TEST_P(GpuMulticast, NoneWhereMembersShareAGpu) {
  fake_cuda::reset({.gpus = 1, .multicast = true});
  ::setenv("ISOTOPE_ALLOW_TIME_SLICING", "1", 1);
  run([](World& world) {
    auto x = world.alloc<int>(1000);
    EXPECT_EQ(world.team().multicast(x.data()), nullptr);
  });
  fake_cuda::reset({.gpus = 2, .multicast = true});
  run([](World& world) {
    auto x = world.alloc<int>(1000);
    EXPECT_EQ(world.team().multicast(x.data()) != nullptr, world.size() == 2);
    // Neighbours drive different ones.
    const Teams2d teams = world.split_2d(world.team(), 2);
    one_for_all(world, teams.row.team(), x, 1, 64 << 20, 100);
    if (teams.column.size() > 1) {
      EXPECT_EQ(teams.column.team().multicast(x.data()), nullptr);
    }
  });
  ::unsetenv("ISOTOPE_ALLOW_TIME_SLICING");
}

// A team that cannot have it does without; memory that a team cannot reach is not handed out.
TEST_P(GpuMulticast, FailuresAreEveryonesAndLeaveNothing) {
  if (GetParam().pes == 1) return;
  run([](World& world) {
    auto x = world.alloc<int>(1000);
    const auto before = live_on_all(world);
    for (const char* call :
         {"cuMulticastCreate", "cuMulticastAddDevice", "cuMulticastBindMem", "cuMemAddressReserve"}) {
      if (world.rank() == 0) fake_cuda::fail(call, 1);
      const OwnedTeam team = world.split_strided(world.team(), 0, 1, world.size());
      EXPECT_EQ(team.team().multicast(x.data()), nullptr) << call;
      EXPECT_EQ(live_on_all(world), before) << call;
    }
    for (const char* call : {"cuMulticastCreate", "cuMulticastAddDevice", "cuMulticastBindMem"}) {
      if (world.rank() == 0) fake_cuda::fail(call, 1);
      const auto [code, text] = error_of([&] { world.alloc<char>(70 << 20); });
      EXPECT_EQ(code, Code::system) << text;
      EXPECT_NE(text.find("multicast failed on PE 0"), std::string::npos) << text;
      EXPECT_EQ(live_on_all(world), before) << call;
    }
    auto y = world.alloc<int>((70 << 20) / sizeof(int));
    one_for_all(world, world.team(), y, 5, 0, 500);
  });
}

}  // namespace
}  // namespace isotope
