// A member that never comes to a collective, and one that dies: the others end in time, and know whom they missed.
#include <chrono>
#include <string>

#include "isotope/host/choice.hpp"
#include "support/fault_job.hpp"

namespace isotope {
namespace {

using std::chrono::milliseconds;
using testing::FaultJob;
using testing::FaultShape;
using testing::kReleaseBound;
using testing::kSlow;
using testing::PesAs;
using testing::Seat;
using testing::sit;

constexpr std::size_t kCount = 700;  // two messages of a small workspace

/// One call of every kind and algorithm, by number.
struct Kind {
  Collective collective;
  Algo algo;
};
constexpr Kind kKinds[] = {
#define X(c, a, dst, src) {Collective::c, Algo::a},
#include "isotope/collective/algorithms.def"
#undef X
};

class FaultyCollective : public ::testing::TestWithParam<FaultShape> {};
INSTANTIATE_TEST_SUITE_P(All, FaultyCollective,
                         ::testing::Values(FaultShape{3, PesAs::threads}, FaultShape{5, PesAs::processes}),
                         testing::fault_shape_name);

// Every PE but one makes each kind of call in turn. Who waits for the missing one is told so; with algorithms that pass
// data on, a member may miss its neighbour instead, which itself was waiting. One of them always names the one to
// blame.
TEST_P(FaultyCollective, EndsAtTheDeadlineWhenAMemberDoesNotCome) {
  const int absent = GetParam().pes - 1;
  for (const Kind kind :
       {kKinds[0], kKinds[1], kKinds[3], kKinds[5], kKinds[8], kKinds[9], Kind{Collective::all_gather, Algo::push},
        Kind{Collective::broadcast, Algo::tree}, Kind{Collective::inclusive_scan, Algo::direct}}) {
    SCOPED_TRACE(std::string(name_of(kind.algo)) + " " + name_of(kind.collective));
    FaultJob job(GetParam(), {.wait_deadline = milliseconds(300)});
    job.run([&](World& world, Seat& seat) {
      Collectives coll(world, {.channels = 1, .slot_bytes = 1920});
      auto x = world.alloc<float>(kCount * static_cast<std::size_t>(world.size())), y = world.alloc<float>(x.size());
      world.barrier();
      seat.begin();
      if (world.rank() != absent) {
        seat.attempt([&] {
          coll.run({kind.collective, kind.algo, DataType::f32, ReduceOp::add, Accumulate::wide, 0, y.data(), x.data(),
                    kCount});
        });
      }
      job.meet(0);
    });
    bool blamed = false;
    for (int pe = 0; pe < job.pes(); ++pe) {
      if (pe == absent) continue;
      const Seat& seat = job.seat(pe);
      EXPECT_TRUE(seat.threw) << "PE " << pe;
      EXPECT_EQ(seat.code, Code::timeout) << seat.message;
      EXPECT_NE(std::string(seat.message).find(name_of(kind.collective)), std::string::npos) << seat.message;
      EXPECT_TRUE(job.took_between(pe, milliseconds(300), milliseconds(300) + kReleaseBound * kSlow));
      blamed = blamed || seat.peer == absent;
    }
    EXPECT_TRUE(blamed) << "nobody named PE " << absent;
  }
}

TEST_P(FaultyCollective, EndsWhenAMemberDies) {
  if (GetParam().as == PesAs::threads) GTEST_SKIP() << "threads do not die alone";
  const int victim = 1;
  FaultJob job(GetParam());
  job.start([&](World& world, Seat& seat) {
    Collectives coll(world, {.channels = 1, .slot_bytes = 1920});
    auto x = world.alloc<float>(kCount), y = world.alloc<float>(kCount);
    // Some rounds together first.
    for (int again = 0; again < 3; ++again)
      coll.all_reduce(y.data(), x.data(), kCount, ReduceOp::add, {.algo = Algo::ring});
    seat.set_ready();
    if (world.rank() == victim) sit();
    for (;;) coll.all_reduce(y.data(), x.data(), kCount, ReduceOp::add, {.algo = Algo::lamport});
  });
  ASSERT_TRUE(job.all_ready());
  const std::uint64_t struck = job.strike(victim);
  job.wait();
  job.expect_others_threw(victim, Code::peer_lost, struck, kReleaseBound);
}

}  // namespace
}  // namespace isotope
