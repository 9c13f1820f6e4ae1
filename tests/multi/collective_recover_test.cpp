// After a collective has failed in a kernel: its members may each have come to another place, so calls are refused
// until all of them have recovered, and are right again then.
#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "support/collective_calls.hpp"
#include "support/job_shape.hpp"

namespace isotope {
namespace {

using std::chrono::milliseconds;

class CollectiveRecover : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveRecover);

constexpr std::size_t kCount = 700;  // two messages of a small workspace
constexpr milliseconds kDeadline{400};

Code code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::ok;
}

ISOTOPE_KERNEL void wait_in_vain(Team team, Signal* never) { wait_until(this_block(), team, never, Cmp::ge, 1); }

struct Buffers {
  Buffers(World& w, const Team& t)
      : world(w),
        team(t),
        coll(w, t, {.channels = 1, .slot_bytes = 1920}),
        dst(w.alloc<float>(kCount * static_cast<std::size_t>(w.size()))),
        src(w.alloc<float>(dst.size())) {}

  CollectiveCall call_of(Collective collective, Algo algo) {
    return {collective, algo, DataType::f32, ReduceOp::add, Accumulate::wide, 0, dst.data(), src.data(), kCount};
  }
  void call(Collective collective, Algo algo) { testing::run_any(coll, call_of(collective, algo)); }
  /// Many calls, each with other numbers, by members that come late in turn.
  void expect_right() {
    constexpr Algo kAlgos[] = {Algo::two_shot, Algo::ll16,     Algo::lamport,
                               Algo::ring,     Algo::one_shot, Algo::double_tree};
    for (int round = 0; round < 18; ++round) {
      if (round % team.size() == team.rank()) std::this_thread::sleep_for(milliseconds(1));
      src.write(std::vector<float>(src.size(), static_cast<float>(round * 100 + team.rank())));
      dst.write(std::vector<float>(dst.size(), -1));
      call(Collective::all_reduce, kAlgos[round % 6]);
      const int members = team.size();
      std::vector<float> expected(dst.size(), -1);
      std::fill_n(expected.begin(), kCount, static_cast<float>(members * round * 100 + members * (members - 1) / 2));
      ASSERT_EQ(dst.read(), expected) << "round " << round;
    }
  }

  World& world;
  Team team;
  Collectives coll;
  Symmetric<float> dst, src;
};

// The last member does not come. Each kind of call leaves something else behind: meetings, slots, chains, messages.
TEST_P(CollectiveRecover, FromAMemberThatDidNotCome) {
  run(
      [](World& world) {
        if (world.size() == 1) return;
        Buffers b(world, world.team());
        constexpr struct {
          Collective collective;
          Algo algo;
        } kCalls[] = {{Collective::all_reduce, Algo::two_shot},
                      {Collective::all_reduce, Algo::lamport},
                      {Collective::all_reduce, Algo::ring},
                      {Collective::broadcast, Algo::eager}};
        b.expect_right();
        for (const auto& one : kCalls) {
          if (world.rank() == world.size() - 1) {
            std::this_thread::sleep_for(kDeadline / 2);  // recover() has a deadline, too
          } else {
            // The root of an eager broadcast goes on at once, until it is two messages ahead.
            const Code code = code_of([&] {
              for (int again = 0; again < 4; ++again) b.call(one.collective, one.algo);
            });
            EXPECT_EQ(code, Code::timeout);
            EXPECT_EQ(code_of([&] { b.call(one.collective, one.algo); }), Code::out_of_step);
            EXPECT_EQ(code_of([&] { (void)b.coll.workspace(); }), Code::out_of_step);
          }
          b.coll.recover();
          b.expect_right();
        }
      },
      {.wait_deadline = kDeadline});
}

// The last member comes to the call when the others have given up, as a slow one would: by some algorithms it finds all
// that it needs and goes on to the next call, by others it gives up too, a deadline later than they did.
TEST_P(CollectiveRecover, WithAMemberThatCameLate) {
  run(
      [](World& world) {
        if (world.size() == 1) return;
        Buffers b(world, world.team());
        for (const Algo algo : {Algo::ll16, Algo::two_shot, Algo::ring}) {
          const bool late = world.rank() == world.size() - 1;
          if (late) std::this_thread::sleep_for(kDeadline * 3 / 2);
          const Code code = code_of([&] {
            for (int again = 0; again < 4; ++again) b.call(Collective::all_reduce, algo);
          });
          EXPECT_EQ(code, Code::timeout) << name_of(algo);
          b.coll.recover();
          b.expect_right();
        }
      },
      {.wait_deadline = kDeadline});
}

// Two teams of the same members fail one after the other: each is told, and neither goes on before it has recovered.
TEST_P(CollectiveRecover, OfTwoTeamsThatFailedOneAfterTheOther) {
  run(
      [](World& world) {
        if (world.size() == 1 || world.drives_gpu()) return;
        const OwnedTeam other = world.split_strided(world.team(), 0, 1, world.size());
        Buffers one(world, world.team()), two(world, other.team());
        const CollectiveCall on_one = one.call_of(Collective::all_reduce, Algo::two_shot),
                             on_two = two.call_of(Collective::all_reduce, Algo::two_shot);
        if (world.rank() == 0) {
          Stream a = world.create_stream(), b = world.create_stream();
          testing::enqueue_any(one.coll, a, on_one);
          std::this_thread::sleep_for(kDeadline / 8);
          testing::enqueue_any(two.coll, b, on_two);
          EXPECT_EQ(code_of([&] { a.synchronize(); }), Code::timeout);
          EXPECT_EQ(code_of([&] { b.synchronize(); }), Code::timeout);
          EXPECT_EQ(code_of([&] { one.call(Collective::all_reduce, Algo::two_shot); }), Code::out_of_step);
          EXPECT_EQ(code_of([&] { two.call(Collective::all_reduce, Algo::two_shot); }), Code::out_of_step);
        } else {
          std::this_thread::sleep_for(kDeadline * 5 / 4);
        }
        one.coll.recover();
        two.coll.recover();
        one.expect_right();
        two.expect_right();
      },
      {.wait_deadline = kDeadline});
}

// What a team's members left behind concerns no other team.
TEST_P(CollectiveRecover, OneTeamAlone) {
  run(
      [](World& world) {
        if (world.size() < 3) return;
        const Teams2d pairs = world.split_2d(world.team(), 2);
        Buffers all(world, world.team()), mine(world, pairs.row.team());
        if (world.rank() == 0) {
          EXPECT_EQ(code_of([&] { mine.call(Collective::all_reduce, Algo::ll16); }), Code::timeout);
        } else {
          std::this_thread::sleep_for(kDeadline / 2);  // who waits for it has a deadline, too
        }
        if (world.rank() < 2) mine.coll.recover();
        mine.expect_right();
        all.expect_right();
      },
      {.wait_deadline = kDeadline});
}

// A Collectives that was made after the failure has nothing to recover from.
TEST_P(CollectiveRecover, ANewOneIsInStep) {
  run(
      [](World& world) {
        Buffers before(world, world.team());
        auto never = world.alloc_zeroed<Signal>(1);
        world.launch<wait_in_vain>({}, world.team(), never.data());
        EXPECT_EQ(code_of([&] { world.synchronize(); }), Code::timeout);
        EXPECT_EQ(code_of([&] { before.call(Collective::all_reduce, Algo::ring); }), Code::out_of_step);
        Buffers after(world, world.team());
        after.expect_right();
        before.coll.recover();
        before.expect_right();
      },
      {.wait_deadline = kDeadline});
}

}  // namespace
}  // namespace isotope
