// Every form of wait ends at the deadline: the error names the call, the word and the values, and the team works again
// once it has been thrown.
#include <cstdint>
#include <string>
#include <vector>

#include "support/job_shape.hpp"
#include "support/symmetric.hpp"
#include "support/wait_groups.hpp"

namespace isotope {
namespace {

using testing::each_group;
using testing::fill;
using testing::group_here;

class WaitsDeadline : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(WaitsDeadline);

constexpr std::uint64_t kDeadline = 30'000'000, kExpected = 471108, kFound = 230815;
constexpr std::size_t kWords = 7, kFirst = 2;  // the words before kFirst do not count
constexpr std::uint32_t kThreads = 40;

ISOTOPE_KERNEL void set_deadline(Team team, std::uint64_t ns) { team.state().control->wait_deadline_ns = ns; }

/// Device waits of this PE end soon in `body`; the host's own, which have the job's deadline, are left alone: PEs
/// outnumber cores.
template <class F>
void with_short_deadline(World& world, F&& body) {
  // What kernels read is in the memory of the GPU, if there is one; what the error says is in the host's.
  const auto set = [&](std::uint64_t ns) {
    world.team().state().control->wait_deadline_ns = ns;
    world.launch<set_deadline>({}, world.team(), ns);
    world.synchronize();
  };
  const std::uint64_t before = world.team().state().control->wait_deadline_ns;
  set(kDeadline);
  body();
  set(before);
}

enum class Form { one, all, any, some, all_vector, any_vector, some_vector };
constexpr const char* kNames[] = {"wait_until",
                                  "wait_until_all",
                                  "wait_until_any",
                                  "wait_until_some",
                                  "wait_until_all_vector",
                                  "wait_until_any_vector",
                                  "wait_until_some_vector"};

struct Given {
  const int* status;
  const std::uint64_t* values;
  std::size_t* indices;
  int* gave_up;  // of each thread
};

template <class G>
ISOTOPE_KERNEL void wait_in_vain(Team team, Signal* words, Form form, Given given) {
  const G group = group_here<G>();
  bool met = true;
  switch (form) {
    case Form::one:
      met = wait_until(group, team, &words[kFirst], Cmp::ge, kExpected);
      break;
    case Form::all:
      met = wait_until_all(group, team, words, kWords, Cmp::ge, kExpected, given.status);
      break;
    case Form::any:
      met = wait_until_any(group, team, words, kWords, Cmp::ge, kExpected, given.status) != kNoIndex;
      break;
    case Form::some:
      met = wait_until_some(group, team, words, kWords, given.indices, Cmp::ge, kExpected, given.status) != 0;
      break;
    case Form::all_vector:
      met = wait_until_all_vector(group, team, words, kWords, Cmp::ge, given.values, given.status);
      break;
    case Form::any_vector:
      met = wait_until_any_vector(group, team, words, kWords, Cmp::ge, given.values, given.status) != kNoIndex;
      break;
    case Form::some_vector:
      met = wait_until_some_vector(group, team, words, kWords, given.indices, Cmp::ge, given.values, given.status) != 0;
      break;
  }
  given.gave_up[this_block().thread_rank()] = !met && team.stopped();
}

ISOTOPE_KERNEL void tell_right(Team team, Epoch epoch, int* well) {
  const Block block = this_block();
  const std::uint64_t round = epoch.next(block);
  signal(block, team, epoch.signal(), 1, SignalOp::add, (team.rank() + 1) % team.size());
  const bool met = wait_until_all(block, team, epoch.signal(), 1, Cmp::ge, round);
  if (block.is_leader() && met && !team.stopped()) ++*well;
}

Error error_of(World& world) {
  try {
    world.synchronize();
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::ok, "nothing was thrown");
}

bool has(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

TEST_P(WaitsDeadline, NamesTheCallAndTheWord) {
  run([](World& world) {
    auto words = world.alloc_zeroed<Signal>(kWords);
    auto epoch = world.alloc_epoch();
    auto status = world.alloc_zeroed<int>(kWords);
    auto values = world.alloc<std::uint64_t>(kWords);
    auto indices = world.alloc<std::size_t>(kWords);
    auto gave_up = world.alloc<int>(kThreads), well = world.alloc_zeroed<int>(1);
    fill(words, Signal{kFound});
    fill(values, kExpected);
    status.write(std::vector<int>(kFirst, 1));
    int rounds = 0;
    for (int form = 0; form < 7; ++form) {
      each_group([&]<class G>() {
        fill(gave_up, 0);
        fill(indices, std::size_t{0x5a5a5a});
        with_short_deadline(world, [&] {
          world.launch<wait_in_vain<G>>({.block = kThreads}, world.team(), words.data(), static_cast<Form>(form),
                                        Given{status.data(), values.data(), indices.data(), gave_up.data()});
          const Error error = error_of(world);
          EXPECT_EQ(error.code(), Code::timeout) << error.what();
          EXPECT_EQ(error.pe(), world.rank());
          EXPECT_TRUE(has(error, std::string(kNames[form]) + " at ")) << error.what();
          EXPECT_TRUE(has(error, "waits_deadline_test.cpp:")) << error.what();
          EXPECT_TRUE(has(error, "(56 bytes) + 16 >= 471108 and found 230815")) << error.what();
          EXPECT_TRUE(has(error, "ISOTOPE_WAIT_DEADLINE (0.03 s)")) << error.what();
        });
        ASSERT_EQ(gave_up.read(), std::vector<int>(kThreads, 1)) << kNames[form] << ": not every thread was told";
        ASSERT_EQ(indices.read(), std::vector<std::size_t>(kWords, 0x5a5a5a));
        EXPECT_EQ(world.status().code, Code::ok);
        ++rounds;
        world.launch<tell_right>({.block = kThreads}, world.team(), epoch.get(), well.data());
        world.synchronize();
        ASSERT_EQ(well.get(0), rounds) << "the team does not work after " << kNames[form];
      });
    }
    world.barrier();
  });
}

// A deadline is the call's, however many words it waits for: here each one comes late, but none later than it, until
// the call has ended. They are many, since where PEs outnumber cores a wait may begin late, too.
constexpr std::size_t kLateWords = 64;
ISOTOPE_KERNEL void late_one_by_one(Team team, Signal* words, int* met) {
  if (this_block().rank() == 0) {
    const bool all = wait_until_all(this_block(), team, words, kLateWords, Cmp::ge, 1);
    store(met, all ? 1 : 0, Order::release);
    return;
  }
  for (std::size_t i = 0; i < kLateWords && load(met) < 0; ++i) {
    const std::uint64_t until = platform::clock_ns() + kDeadline * 2 / 3;
    for (std::uint32_t polls = 0; platform::clock_ns() < until;) platform::relax(++polls);
    store(&words[i].value, 1, Order::release);
  }
}

TEST_P(WaitsDeadline, IsThatOfTheCallNotOfEachWord) {
  run([](World& world) {
    auto words = world.alloc_zeroed<Signal>(kLateWords);
    auto met = world.alloc<int>(1);
    met.set(0, -1);
    with_short_deadline(world, [&] {
      world.launch<late_one_by_one>({.grid = 2}, world.team(), words.data(), met.data());
      EXPECT_EQ(error_of(world).code(), Code::timeout) << "waited many times the deadline, without a word";
    });
    EXPECT_EQ(met.get(0), 0);
    world.barrier();
  });
}

// ---- barriers -------------------------------------------------------------------------------------------------------
constexpr int kIndex = 3;

template <class G>
ISOTOPE_KERNEL void meet(Team team, int form, int* gave_up) {
  const G group = group_here<G>();
  bool met = true;
  if (form == 0) met = barrier(group, team, kIndex);
  if (form == 1) met = sync(group, team, kIndex);
  if (form == 2) met = wait(group, team, arrive(group, team, kIndex));
  if (form == 3) met = SyncSession(group, team, kIndex).sync();
  gave_up[this_block().thread_rank()] = !met;
}

// Member 0 never comes. The others say so, with its name.
TEST_P(WaitsDeadline, OfABarrierNamesWhoIsMissing) {
  if (GetParam().pes == 1) GTEST_SKIP() << "one PE is never missing";
  run([](World& world) {
    static constexpr const char* kBarriers[] = {"barrier at ", "sync at ", "wait at ", "SyncSession::sync at "};
    auto gave_up = world.alloc<int>(kThreads);
    for (int form = 0; form < 4; ++form) {
      // A team that was stopped in a barrier is out of step afterwards.
      OwnedTeam team = world.split_strided(world.team(), 0, 1, world.size());
      fill(gave_up, 0);
      if (world.rank() != 0) {
        with_short_deadline(world, [&] {
          const LaunchConfig config{.block = form % 3 == 0 ? kThreads : 1};
          world.launch<meet<Block>>(config, team.team(), form, gave_up.data());
          const Error error = error_of(world);
          EXPECT_EQ(error.code(), Code::timeout) << error.what();
          EXPECT_EQ(error.peer(), 0) << error.what();
          EXPECT_TRUE(has(error, kBarriers[form])) << error.what();
          EXPECT_TRUE(has(error, "barrier 3 of a team of " + std::to_string(world.size()))) << error.what();
          EXPECT_TRUE(has(error, "it was to come from PE 0")) << error.what();
        });
        EXPECT_EQ(gave_up.get(0), 1);
      }
      world.barrier();
      team.destroy();
      const OwnedTeam anew = world.split_strided(world.team(), 0, 1, world.size());
      fill(gave_up, -1);
      world.launch<meet<Block>>({.block = kThreads}, anew.team(), form, gave_up.data());
      world.synchronize();
      EXPECT_EQ(gave_up.read(), std::vector<int>(kThreads, 0));
      world.barrier();
    }
  });
}

// ---- the blocks of one grid -----------------------------------------------------------------------------------------
ISOTOPE_KERNEL void meet_in_grid(Team team, std::uint32_t missing, int* well) {
  if (this_block().rank() != missing) well[this_block().rank()] = grid_sync(team);
}

TEST_P(WaitsDeadline, OfAGridWithABlockThatStaysAway) {
  run([](World& world) {
    const OwnedTeam team = world.split_strided(world.team(), 0, 1, world.size());
    auto well = world.alloc<int>(3);
    fill(well, -1);
    with_short_deadline(world, [&] {
      world.launch<meet_in_grid>({.grid = 3, .block = 2}, team.team(), 1, well.data());
      const Error error = error_of(world);
      EXPECT_EQ(error.code(), Code::timeout) << error.what();
      EXPECT_TRUE(has(error, "grid_sync at ") && has(error, "the grid of a team of ")) << error.what();
    });
    EXPECT_EQ(well.read(), (std::vector<int>{0, -1, 0}));
    // A team whose grid_sync was never completed is out of step; others are not.
    world.launch<meet_in_grid>({.grid = 3, .block = 2}, world.team(), 99, well.data());
    world.synchronize();
    EXPECT_EQ(well.read(), (std::vector<int>{1, 1, 1}));
    world.barrier();
  });
}

// ---- what a group sends after one of its threads gave up
// -------------------------------------------------------------- The others may have come to the call before that: no
// signal goes out without all of its data.
ISOTOPE_KERNEL void give_up_and_send(Team team, const Signal* never, Signal* arrived, std::uint64_t* inbox,
                                     const std::uint64_t* outbox) {
  const Block block = this_block();
  if (block.thread_rank() == kThreads - 1) (void)wait_until(this_thread(), team, never, Cmp::ge, 1);
  put_signal_bytes(block, team, inbox, outbox, kThreads * sizeof(std::uint64_t), arrived, 1, SignalOp::add,
                   (team.rank() + 1) % team.size());
}

TEST_P(WaitsDeadline, OfOneThreadHoldsTheGroupsSignalBack) {
  run([](World& world) {
    auto never = world.alloc_zeroed<Signal>(1), arrived = world.alloc_zeroed<Signal>(1);
    auto inbox = world.alloc_zeroed<std::uint64_t>(kThreads), outbox = world.alloc<std::uint64_t>(kThreads);
    fill(outbox, std::uint64_t{7});
    with_short_deadline(world, [&] {
      world.launch<give_up_and_send>({.block = kThreads}, world.team(), never.data(), arrived.data(), inbox.data(),
                                     outbox.data());
      EXPECT_EQ(error_of(world).code(), Code::timeout);
    });
    world.barrier();
    EXPECT_EQ(arrived.get(0).value, 0u);
    world.barrier();
  });
}

// The same when the stop comes from another block while a message is under way: what is signalled is all there.
constexpr std::uint32_t kSenders = 128, kLine = 8;
constexpr std::uint64_t kMessages = 20'000;
ISOTOPE_KERNEL void send_until_stopped(Team team, const Signal* never, Signal* arrived, std::uint64_t* inbox,
                                       std::uint64_t* outbox) {
  const Block block = this_block();
  if (block.rank() == 1) {
    if (block.is_leader()) (void)wait_until(this_thread(), team, never, Cmp::ge, 1);
    return;
  }
  for (std::uint64_t message = 1; message <= kMessages && !team.stopped(); ++message) {
    for (std::uint32_t i = 0; i < kLine; ++i) outbox[block.thread_rank() * kLine + i] = message;
    put_signal_bytes(block, team, inbox, outbox, kSenders * kLine * sizeof(std::uint64_t), arrived, message,
                     SignalOp::set, team.rank());
  }
}

TEST_P(WaitsDeadline, OfAnotherBlockLeavesNoSignalWithoutItsData) {
  run([](World& world) {
    auto never = world.alloc_zeroed<Signal>(1), arrived = world.alloc_zeroed<Signal>(1);
    auto inbox = world.alloc_zeroed<std::uint64_t>(kSenders * kLine),
         outbox = world.alloc<std::uint64_t>(kSenders * kLine);
    with_short_deadline(world, [&] {
      for (int turn = 0; turn < 10; ++turn) {
        fill(inbox, std::uint64_t{0});
        arrived.set(0, Signal{0});
        world.launch<send_until_stopped>({.grid = 2, .block = kSenders}, world.team(), never.data(), arrived.data(),
                                         inbox.data(), outbox.data());
        EXPECT_EQ(error_of(world).code(), Code::timeout);
        const std::uint64_t last = arrived.get(0).value;
        std::size_t missing = 0;
        for (const std::uint64_t word : inbox.read()) missing += word != last && word != last + 1;
        EXPECT_EQ(missing, 0u) << "of message " << last;
      }
    });
    world.barrier();
  });
}

}  // namespace
}  // namespace isotope
