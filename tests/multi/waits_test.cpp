// Waits and tests over one word and over several: comparisons, masks, empty sets, and words that come one by one.
#include <algorithm>
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

class Waits : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(Waits);

constexpr Cmp kCmps[] = {Cmp::eq, Cmp::ne, Cmp::gt, Cmp::ge, Cmp::lt, Cmp::le};
constexpr std::uint32_t kThreads = 40;  // a warp and a part of one

template <class T>
bool holds(T found, Cmp cmp, T expected) {
  const bool table[] = {found == expected, found != expected, found > expected,
                        found >= expected, found < expected,  found <= expected};
  return table[static_cast<int>(cmp)];
}

template <class W>
WaitValue<W> value_of(const W& word) {
  return *detail::value_of(&word);
}

/// Lets PEs and rounds differ in when they come.
ISOTOPE_KERNEL void dawdle(int rank, int round) {
  const std::uint64_t until = platform::clock_ns() + static_cast<std::uint64_t>((rank * 5 + round * 3) % 7) * 30'000;
  for (std::uint32_t polls = 0; platform::clock_ns() < until;) platform::relax(++polls);
}

// ---- one word -------------------------------------------------------------------------------------------------------
/// Block 0 waits for this PE's word, block 1 changes that of the right neighbour.
template <class G, class W>
ISOTOPE_KERNEL void wait_for_change(Team team, W* word, Cmp cmp, WaitValue<W> value, WaitValue<W> next, int round,
                                    int* met) {
  const Block block = this_block();
  if (block.rank() == 0) {
    met[block.thread_rank()] = wait_until(group_here<G>(), team, word, cmp, value);
  } else if (block.is_leader()) {
    dawdle(team.rank(), round);
    atomic_set(team, const_cast<WaitValue<W>*>(detail::value_of(word)), next, (team.rank() + 1) % team.size(),
               Order::release);
  }
}

/// What is said of a word without waiting.
template <class T>
struct Tested {
  bool met;
  T found;
};

template <class W>
ISOTOPE_KERNEL void test_each(const W* words, std::size_t count, Cmp cmp, WaitValue<W> value,
                              Tested<WaitValue<W>>* tested) {
  for (std::size_t i = 0; i < count; ++i) tested[i] = {test(&words[i], cmp, value), signal_fetch(&words[i])};
}

template <class W>
void check_comparisons(World& world) {
  using T = WaitValue<W>;
  constexpr std::size_t kNumbers = 4;
  const T above = static_cast<T>(T{0} - T{1}) > T{0} ? static_cast<T>(-1) : T{7};  // unsigned: with the highest bit
  const T numbers[kNumbers] = {static_cast<T>(above - 3), above, static_cast<T>(above / 2),
                               static_cast<T>(T{0} - T{5})};
  auto word = world.alloc<W>(1), words = world.alloc<W>(kNumbers);
  auto tested = world.alloc<Tested<T>>(kNumbers);
  auto met = world.alloc<int>(kThreads);
  for (std::size_t i = 0; i < kNumbers; ++i) words.set(i, W{numbers[i]});
  int round = 0;
  for (const Cmp cmp : kCmps) {
    for (const T value : numbers) {
      // Without waiting, against all numbers.
      world.launch<test_each<W>>({}, words.data(), kNumbers, cmp, value, tested.data());
      world.synchronize();
      const std::vector<Tested<T>> said = tested.read();
      for (std::size_t i = 0; i < kNumbers; ++i) {
        EXPECT_EQ(said[i].met, holds(numbers[i], cmp, value)) << static_cast<int>(cmp);
        EXPECT_EQ(said[i].found, numbers[i]);
      }
    }
    // Waiting for a change from a number that does not do to one that does.
    const T value = numbers[0];
    T before = value, next = value;
    for (const T x : numbers) (holds(x, cmp, value) ? next : before) = x;
    if (cmp == Cmp::ne) before = value;
    ASSERT_TRUE(!holds(before, cmp, value) && holds(next, cmp, value)) << static_cast<int>(cmp);
    each_group([&]<class G>() {
      word.set(0, W{before});
      fill(met, 0);
      world.barrier();
      world.launch<wait_for_change<G, W>>({.grid = 2, .block = kThreads}, world.team(), word.data(), cmp, value, next,
                                          ++round, met.data());
      world.synchronize();
      EXPECT_EQ(met.read(), std::vector<int>(kThreads, 1));
      EXPECT_EQ(value_of(word.get(0)), next);
      world.barrier();
    });
  }
}

TEST_P(Waits, SixComparisons) {
  run([](World& world) {
    check_comparisons<Signal>(world);
    check_comparisons<std::uint64_t>(world);
    check_comparisons<std::int64_t>(world);
    check_comparisons<std::uint32_t>(world);
    check_comparisons<std::int32_t>(world);
  });
}

// ---- several words that do not change -------------------------------------------------------------------------------
/// Some words, what is asked of them, and room for the answers of kThreads threads. In symmetric memory: kernels read
/// it.
template <class W>
struct Question {
  const W* words;
  std::size_t count;
  Cmp cmp;
  WaitValue<W> value;
  const WaitValue<W>* values;
  const int* status;     // null: all count
  std::size_t* indices;  // room for count + 1, twice for each thread
};

/// What each call said, for one thread.
struct Answers {
  bool all, all_vector;
  std::size_t any, any_vector, some, some_vector;
  bool stopped;
};

/// Only for words of which some that counts is met, or none counts.
template <class G, class W>
ISOTOPE_KERNEL void ask(Team team, Question<W> q, bool all_are_met, Answers* answers) {
  const G group = group_here<G>();
  Answers& mine = answers[this_block().thread_rank()];
  std::size_t* own = q.indices + unit_here<G>() * 2 * (q.count + 1);
  mine.all = !all_are_met || wait_until_all(group, team, q.words, q.count, q.cmp, q.value, q.status);
  mine.any = wait_until_any(group, team, q.words, q.count, q.cmp, q.value, q.status);
  mine.some = wait_until_some(group, team, q.words, q.count, own, q.cmp, q.value, q.status);
  mine.all_vector = !all_are_met || wait_until_all_vector(group, team, q.words, q.count, q.cmp, q.values, q.status);
  mine.any_vector = wait_until_any_vector(group, team, q.words, q.count, q.cmp, q.values, q.status);
  mine.some_vector =
      wait_until_some_vector(group, team, q.words, q.count, own + q.count + 1, q.cmp, q.values, q.status);
  mine.stopped = team.stopped();
}

/// The same without waiting, for any words.
template <class W>
ISOTOPE_KERNEL void ask_now(Question<W> q, Answers* answers) {
  Answers& mine = answers[0];
  mine.all = test_all(q.words, q.count, q.cmp, q.value, q.status);
  mine.any = test_any(q.words, q.count, q.cmp, q.value, q.status);
  mine.some = test_some(q.words, q.count, q.indices, q.cmp, q.value, q.status);
  mine.all_vector = test_all_vector(q.words, q.count, q.cmp, q.values, q.status);
  mine.any_vector = test_any_vector(q.words, q.count, q.cmp, q.values, q.status);
  mine.some_vector = test_some_vector(q.words, q.count, q.indices + q.count + 1, q.cmp, q.values, q.status);
}

constexpr std::size_t kWords = 9;

/// Where questions are asked.
template <class W>
struct Desk {
  Symmetric<W> words;
  Symmetric<WaitValue<W>> values;
  Symmetric<int> status;
  Symmetric<std::size_t> indices;
  Symmetric<Answers> answers;

  explicit Desk(World& world)
      : words(world.alloc<W>(kWords)),
        values(world.alloc<WaitValue<W>>(kWords)),
        status(world.alloc<int>(kWords)),
        indices(world.alloc<std::size_t>(kThreads * 2 * (kWords + 1))),
        answers(world.alloc<Answers>(kThreads)) {}
};

struct Case {
  std::size_t count;
  Cmp cmp;
  std::vector<int> status;  // empty: null is passed
};

template <class W>
void check_case(World& world, const Desk<W>& desk, const Case& c, std::uint64_t seed) {
  using T = WaitValue<W>;
  constexpr std::size_t kUnwritten = 0x5a5a5a5a;
  const T value = static_cast<T>(seed % 4);
  fill(desk.values, value);
  desk.status.write(c.status);
  const Question<W> question{
      desk.words.data(),  c.count, c.cmp, value, desk.values.data(), c.status.empty() ? nullptr : desk.status.data(),
      desk.indices.data()};
  const std::vector<W> words = desk.words.read();
  std::vector<std::size_t> met, counted;
  for (std::size_t i = 0; i < c.count; ++i) {
    if (!c.status.empty() && c.status[i] != 0) continue;
    counted.push_back(i);
    if (holds(value_of(words[i]), c.cmp, value)) met.push_back(i);
  }
  const bool all = met.size() == counted.size();
  // Indices that are met, and nothing behind them; by the call with one value, and by that with one for each word.
  std::vector<std::size_t> one_list = met;
  one_list.resize(c.count + 1, kUnwritten);
  std::vector<std::size_t> both_lists = one_list;
  both_lists.insert(both_lists.end(), one_list.begin(), one_list.end());
  // Without waiting.
  fill(desk.indices, kUnwritten);
  world.launch<ask_now<W>>({}, question, desk.answers.data());
  world.synchronize();
  const Answers now = desk.answers.get(0);
  EXPECT_EQ(now.all, all);
  EXPECT_EQ(now.all_vector, all);
  EXPECT_EQ(now.any, met.empty() ? kNoIndex : met[0]);
  EXPECT_EQ(now.any_vector, met.empty() ? kNoIndex : met[0]);
  EXPECT_EQ(now.some, met.size());
  EXPECT_EQ(now.some_vector, met.size());
  EXPECT_EQ(desk.indices.read(0, both_lists.size()), both_lists);
  if (met.empty() && !counted.empty()) return;  // a wait would be in vain
  each_group([&]<class G>() {
    fill(desk.answers, Answers{});
    fill(desk.indices, kUnwritten);
    world.launch<ask<G, W>>({.block = kThreads}, world.team(), question, all, desk.answers.data());
    world.synchronize();
    for (const Answers& answer : desk.answers.read()) {
      EXPECT_TRUE(answer.all && answer.all_vector && !answer.stopped);
      if (met.empty()) {
        EXPECT_EQ(answer.any, kNoIndex);
        EXPECT_EQ(answer.any_vector, kNoIndex);
      } else {
        EXPECT_EQ(std::count(met.begin(), met.end(), answer.any), 1);
        EXPECT_EQ(std::count(met.begin(), met.end(), answer.any_vector), 1);
      }
      EXPECT_EQ(answer.some, met.size());
      EXPECT_EQ(answer.some_vector, met.size());
    }
    EXPECT_EQ(desk.indices.read(0, both_lists.size()), both_lists);
  });
}

template <class W>
void check_cases(World& world) {
  const Desk<W> desk(world);
  std::mt19937_64 random(static_cast<std::uint64_t>(world.rank()) * 101 + sizeof(W));
  for (int round = 0; round < 30; ++round) {
    std::vector<W> words(kWords);
    for (W& word : words) word = W{static_cast<WaitValue<W>>(random() % 4)};
    desk.words.write(words);
    Case c{random() % (kWords + 1), kCmps[random() % 6], {}};
    const std::uint64_t masks = random() % 4;  // none, some, most, all
    for (std::size_t i = 0; masks != 0 && i < kWords; ++i)
      c.status.push_back(masks == 3 || random() % 3 < masks ? static_cast<int>(1 + random() % 5) : 0);
    check_case(world, desk, c, random());
  }
  // Nothing to wait for.
  check_case(world, desk, Case{0, Cmp::eq, {}}, 1);
  check_case(world, desk, Case{kWords, Cmp::eq, std::vector<int>(kWords, -1)}, 1);
  world.barrier();
}

TEST_P(Waits, MasksAndEmptySets) {
  run([](World& world) {
    check_cases<Signal>(world);
    check_cases<std::int32_t>(world);
    check_cases<std::uint64_t>(world);
  });
}

}  // namespace
}  // namespace isotope
