// Words that neighbours signal one by one, in any order: wait_until_any and _some give each of them once, with the data
// that came before it, and wait_until_all returns after the last.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "support/job_shape.hpp"
#include "support/symmetric.hpp"
#include "support/wait_groups.hpp"

namespace isotope {
namespace {

using testing::each_group;
using testing::fill;
using testing::group_here;
using testing::unit_here;

class WaitsArrival : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(WaitsArrival);

constexpr std::size_t kWords = 12;
constexpr std::uint32_t kThreads = 40;
constexpr int kRounds = 6;

enum class Form { any, some, all, any_vector, some_vector, all_vector };
constexpr Form kForms[] = {Form::any, Form::some, Form::all, Form::any_vector, Form::some_vector, Form::all_vector};

/// One letter: the Signal, and what is written before it.
struct Letter {
  std::uint64_t data;
};

struct Job {
  Signal* signals;
  Letter* letters;
  const std::uint64_t* goals;  // of each word; the same for all where the form takes one value
  const int* order;            // in which the neighbour's words are signalled
  std::uint64_t round;
  int* status;           // of each group
  std::size_t* indices;  // of each group
  int* seen;             // how often each thread was given each word
  int* wrong;            // of each thread: words that had not come, or came without their data
};

ISOTOPE_HD std::uint64_t letter(std::uint64_t goal, std::size_t i, int from) {
  return goal * 1000 + i * 10 + static_cast<std::uint64_t>(from);
}

ISOTOPE_KERNEL void send_letters(const Team& team, const Job& job) {
  const int to = (team.rank() + 1) % team.size();
  for (std::size_t k = 0; k < kWords; ++k) {
    const auto i = static_cast<std::size_t>(job.order[k]);
    // One short of the goal, without the data: a wait must not take a word that is on its way.
    signal(this_thread(), team, &job.signals[i], job.goals[i] - 1, SignalOp::set, to);
    if ((job.round + k) % 4 == 0) {
      const std::uint64_t until = platform::clock_ns() + 20'000 * (k % 3 + 1);
      for (std::uint32_t polls = 0; platform::clock_ns() < until;) platform::relax(++polls);
    }
    p(team, &job.letters[i].data, letter(job.goals[i], i, team.rank()), to);
    signal(this_thread(), team, &job.signals[i], job.goals[i], SignalOp::set, to);
  }
}

template <class G>
ISOTOPE_KERNEL void take_letters(const Team& team, const Job& job, Form form) {
  const G group = group_here<G>();
  const std::uint32_t thread = this_block().thread_rank();
  int* status = job.status + unit_here<G>() * kWords;
  std::size_t* indices = job.indices + unit_here<G>() * kWords;
  const auto take = [&](std::size_t i) {
    ++job.seen[thread * kWords + i];
    const int from = (team.rank() + team.size() - 1) % team.size();
    job.wrong[thread] += job.letters[i].data != letter(job.goals[i], i, from);
    job.wrong[thread] += signal_fetch(&job.signals[i]) < job.goals[i];
  };
  const std::uint64_t goal = job.goals[0];
  for (std::size_t turn = 0; turn <= kWords; ++turn) {  // the last one finds every word taken
    std::size_t one[1], count = 0;
    const std::size_t* found = one;
    if (form == Form::any || form == Form::any_vector) {
      one[0] = form == Form::any ? wait_until_any(group, team, job.signals, kWords, Cmp::ge, goal, status)
                                 : wait_until_any_vector(group, team, job.signals, kWords, Cmp::ge, job.goals, status);
      count = one[0] == kNoIndex ? 0 : 1;
    } else if (form == Form::some || form == Form::some_vector) {
      count = form == Form::some
                  ? wait_until_some(group, team, job.signals, kWords, indices, Cmp::ge, goal, status)
                  : wait_until_some_vector(group, team, job.signals, kWords, indices, Cmp::ge, job.goals, status);
      found = indices;
    } else {
      const bool all = form == Form::all ? wait_until_all(group, team, job.signals, kWords, Cmp::ge, goal)
                                         : wait_until_all_vector(group, team, job.signals, kWords, Cmp::ge, job.goals);
      for (std::size_t i = 0; all && i < kWords; ++i) take(i);
      return;
    }
    if (count == 0) return;  // every word has been taken
    for (std::size_t k = 0; k < count; ++k) take(found[k]);
    group.sync();
    if (group.is_leader())
      for (std::size_t k = 0; k < count; ++k) status[found[k]] = 1;
    group.sync();
  }
}

template <class G>
ISOTOPE_KERNEL void exchange_letters(Team team, Job job, Form form) {
  if (this_block().rank() == 0)
    take_letters<G>(team, job, form);
  else if (this_block().is_leader())
    send_letters(team, job);
}

template <class G>
void check(World& world, Form form, std::mt19937& random) {
  auto signals = world.alloc_zeroed<Signal>(kWords);
  auto letters = world.alloc_zeroed<Letter>(kWords);
  auto goals = world.alloc<std::uint64_t>(kWords);
  auto orders = world.alloc<int>(kWords);
  auto status = world.alloc<int>(kThreads * kWords), seen = world.alloc<int>(kThreads * kWords);
  auto wrong = world.alloc<int>(kThreads);
  auto indices = world.alloc<std::size_t>(kThreads * kWords);
  std::vector<int> order(kWords);
  std::iota(order.begin(), order.end(), 0);
  const bool vector = form >= Form::any_vector;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    // Goals grow from round to round: nothing is reset. All PEs have the same.
    for (std::size_t i = 0; i < kWords; ++i) goals.set(i, round * 100 + (vector ? i * 7 % 50 : 0));
    std::shuffle(order.begin(), order.end(), random);
    orders.write(order);
    fill(status, 0);
    fill(seen, 0);
    fill(wrong, 0);
    fill(indices, std::size_t{0x5a5a5a5a});
    world.launch<exchange_letters<G>>({.grid = 2, .block = kThreads}, world.team(),
                                      Job{signals.data(), letters.data(), goals.data(), orders.data(), round,
                                          status.data(), indices.data(), seen.data(), wrong.data()},
                                      form);
    world.synchronize();
    ASSERT_EQ(seen.read(), std::vector<int>(seen.size(), 1))
        << "a word was not given once to each thread; form " << static_cast<int>(form);
    ASSERT_EQ(wrong.read(), std::vector<int>(wrong.size(), 0)) << "form " << static_cast<int>(form);
    world.barrier();
  }
}

TEST_P(WaitsArrival, EachWordComesOnceAndWithItsData) {
  run([](World& world) {
    std::mt19937 random(static_cast<std::uint32_t>(world.rank()) + 5);
    for (const Form form : kForms) each_group([&]<class G>() { check<G>(world, form, random); });
  });
}

}  // namespace
}  // namespace isotope
