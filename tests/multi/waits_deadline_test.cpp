// Every form of wait ends at the deadline: the error names the call, the word and the values, and the team works again
// once it has been thrown.
#include <cstdint>
#include <string>

#include "support/job_shape.hpp"
#include "support/wait_groups.hpp"

namespace isotope {
namespace {

using testing::each_group;
using testing::group_here;

class WaitsDeadline : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(WaitsDeadline);

constexpr std::uint64_t kDeadline = 30'000'000, kExpected = 471108, kFound = 230815;
constexpr std::size_t kWords = 7, kFirst = 2;  // the words before kFirst do not count
constexpr std::uint32_t kThreads = 40;

/// Device waits of this PE end soon; the host's own, which have the job's deadline, are left alone: PEs outnumber
/// cores.
class ShortDeadline {
 public:
  explicit ShortDeadline(World& world) : control_(world.team().state().control), before_(control_->wait_deadline_ns) {
    control_->wait_deadline_ns = kDeadline;
  }
  ~ShortDeadline() { control_->wait_deadline_ns = before_; }
  ShortDeadline(const ShortDeadline&) = delete;
  ShortDeadline& operator=(const ShortDeadline&) = delete;

 private:
  Control* control_;
  std::uint64_t before_;
};

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
    for (Signal& word : words) word.value = kFound;
    int status[kWords] = {1, 1};
    std::uint64_t values[kWords];
    std::size_t indices[kWords];
    std::fill(values, values + kWords, kExpected);
    int well = 0, rounds = 0;
    for (int form = 0; form < 7; ++form) {
      each_group([&]<class G>() {
        int gave_up[kThreads] = {};
        std::fill(indices, indices + kWords, std::size_t{0x5a5a5a});
        {
          const ShortDeadline short_deadline(world);
          world.launch<wait_in_vain<G>>({.block = kThreads}, world.team(), words.data(), static_cast<Form>(form),
                                        Given{status, values, indices, gave_up});
          const Error error = error_of(world);
          EXPECT_EQ(error.code(), Code::timeout) << error.what();
          EXPECT_EQ(error.pe(), world.rank());
          EXPECT_TRUE(has(error, std::string(kNames[form]) + " at ")) << error.what();
          EXPECT_TRUE(has(error, "waits_deadline_test.cpp:")) << error.what();
          EXPECT_TRUE(has(error, "(56 bytes) + 16 >= 471108 and found 230815")) << error.what();
          EXPECT_TRUE(has(error, "ISOTOPE_WAIT_DEADLINE (0.03 s)")) << error.what();
        }
        for (const int one : gave_up) ASSERT_EQ(one, 1) << kNames[form] << ": not every thread was told";
        for (const std::size_t index : indices) ASSERT_EQ(index, 0x5a5a5au);
        EXPECT_EQ(world.status().code, Code::ok);
        ++rounds;
        world.launch<tell_right>({.block = kThreads}, world.team(), epoch.get(), &well);
        world.synchronize();
        ASSERT_EQ(well, rounds) << "the team does not work after " << kNames[form];
      });
    }
    world.barrier();
  });
}

// A deadline is the call's, however many words it waits for: here each one comes late, but none later than it.
ISOTOPE_KERNEL void late_one_by_one(Team team, Signal* words, int* met) {
  if (this_block().rank() == 0) {
    *met = wait_until_all(this_block(), team, words, 4, Cmp::ge, 1);
    return;
  }
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t until = platform::clock_ns() + kDeadline * 2 / 3;
    for (std::uint32_t polls = 0; platform::clock_ns() < until;) platform::relax(++polls);
    store(&words[i].value, 1, Order::release);
  }
}

TEST_P(WaitsDeadline, IsThatOfTheCallNotOfEachWord) {
  run([](World& world) {
    auto words = world.alloc_zeroed<Signal>(4);
    int met = -1;
    {
      const ShortDeadline short_deadline(world);
      world.launch<late_one_by_one>({.grid = 2}, world.team(), words.data(), &met);
      EXPECT_EQ(error_of(world).code(), Code::timeout) << "waited 8/3 of the deadline, without a word";
    }
    EXPECT_EQ(met, 0);
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
  gave_up[this_block().thread_rank()] = !met;
}

// Member 0 never comes. The others say so, with its name.
TEST_P(WaitsDeadline, OfABarrierNamesWhoIsMissing) {
  if (GetParam().pes == 1) GTEST_SKIP() << "one PE is never missing";
  run([](World& world) {
    static constexpr const char* kBarriers[] = {"barrier at ", "sync at ", "wait at "};
    for (int form = 0; form < 3; ++form) {
      // A team that was stopped in a barrier is out of step afterwards.
      OwnedTeam team = world.split_strided(world.team(), 0, 1, world.size());
      int gave_up[kThreads] = {};
      if (world.rank() != 0) {
        const ShortDeadline short_deadline(world);
        const LaunchConfig config{.block = form == 0 ? kThreads : 1};
        world.launch<meet<Block>>(config, team.team(), form, gave_up);
        const Error error = error_of(world);
        EXPECT_EQ(error.code(), Code::timeout) << error.what();
        EXPECT_EQ(error.peer(), 0) << error.what();
        EXPECT_TRUE(has(error, kBarriers[form])) << error.what();
        EXPECT_TRUE(has(error, "barrier 3 of a team of " + std::to_string(world.size()))) << error.what();
        EXPECT_TRUE(has(error, "it was to come from PE 0")) << error.what();
        EXPECT_EQ(gave_up[0], 1);
      }
      world.barrier();
      team.destroy();
      const OwnedTeam anew = world.split_strided(world.team(), 0, 1, world.size());
      int none[kThreads] = {};
      world.launch<meet<Block>>({.block = kThreads}, anew.team(), form, none);
      world.synchronize();
      for (const int one : none) EXPECT_EQ(one, 0);
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
    int well[3] = {-1, -1, -1};
    {
      const ShortDeadline short_deadline(world);
      world.launch<meet_in_grid>({.grid = 3, .block = 2}, team.team(), 1, well);
      const Error error = error_of(world);
      EXPECT_EQ(error.code(), Code::timeout) << error.what();
      EXPECT_TRUE(has(error, "grid_sync at ") && has(error, "the grid of a team of ")) << error.what();
    }
    EXPECT_EQ(well[0], 0);
    EXPECT_EQ(well[2], 0);
    // A team whose grid_sync was never completed is out of step; others are not.
    world.launch<meet_in_grid>({.grid = 3, .block = 2}, world.team(), 99, well);
    world.synchronize();
    EXPECT_TRUE(well[0] == 1 && well[1] == 1 && well[2] == 1);
    world.barrier();
  });
}

}  // namespace
}  // namespace isotope
