// Waits and tests over one word and over several: comparisons, masks, empty sets, and words that come one by one.
#include <algorithm>
#include <array>
#include <random>
#include <type_traits>
#include <vector>

#include "support/job_shape.hpp"
#include "support/wait_groups.hpp"

namespace isotope {
namespace {

using testing::each_group;
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
WaitValue<W>& value_of(W& word) {
  if constexpr (std::is_same_v<W, Signal>)
    return word.value;
  else
    return word;
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
                                    bool* met) {
  const Block block = this_block();
  if (block.rank() == 0) {
    met[block.thread_rank()] = wait_until(group_here<G>(), team, word, cmp, value);
  } else if (block.is_leader()) {
    dawdle(team.rank(), round);
    atomic_set(team, const_cast<WaitValue<W>*>(detail::value_of(word)), next, (team.rank() + 1) % team.size(),
               Order::release);
  }
}

template <class W>
void check_comparisons(World& world) {
  using T = WaitValue<W>;
  auto word = world.alloc<W>(1);
  const T above = static_cast<T>(T{0} - T{1}) > T{0} ? static_cast<T>(-1) : T{7};  // unsigned: with the highest bit
  const T numbers[] = {static_cast<T>(above - 3), above, static_cast<T>(above / 2), static_cast<T>(T{0} - T{5})};
  int round = 0;
  for (const Cmp cmp : kCmps) {
    for (const T value : numbers) {
      // Without waiting, against all numbers.
      for (const T found : numbers) {
        value_of(word[0]) = found;
        EXPECT_EQ(test(word.data(), cmp, value), holds(found, cmp, value)) << static_cast<int>(cmp);
        EXPECT_EQ(signal_fetch(word.data()), found);
      }
    }
    // Waiting for a change from a number that does not do to one that does.
    const T value = numbers[0];
    T before = value, next = value;
    for (const T x : numbers) (holds(x, cmp, value) ? next : before) = x;
    if (cmp == Cmp::ne) before = value;
    ASSERT_TRUE(!holds(before, cmp, value) && holds(next, cmp, value)) << static_cast<int>(cmp);
    each_group([&]<class G>() {
      value_of(word[0]) = before;
      std::array<bool, kThreads> met{};
      world.barrier();
      world.launch<wait_for_change<G, W>>({.grid = 2, .block = kThreads}, world.team(), word.data(), cmp, value, next,
                                          ++round, met.data());
      world.synchronize();
      EXPECT_EQ(std::count(met.begin(), met.end(), true), static_cast<std::ptrdiff_t>(kThreads));
      EXPECT_EQ(value_of(word[0]), next);
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
/// What each call said, for one thread.
struct Answers {
  bool all, all_vector;
  std::size_t any, any_vector, some, some_vector;
  bool stopped;
};

/// Only for words of which some that counts is met, or none counts.
template <class G, class W>
ISOTOPE_KERNEL void ask(Team team, const W* words, std::size_t count, Cmp cmp, WaitValue<W> value,
                        const WaitValue<W>* values, const int* status, std::size_t* indices, bool all_are_met,
                        Answers* answers) {
  const G group = group_here<G>();
  Answers& mine = answers[this_block().thread_rank()];
  std::size_t* own = indices + unit_here<G>() * 2 * (count + 1);
  mine.all = !all_are_met || wait_until_all(group, team, words, count, cmp, value, status);
  mine.any = wait_until_any(group, team, words, count, cmp, value, status);
  mine.some = wait_until_some(group, team, words, count, own, cmp, value, status);
  mine.all_vector = !all_are_met || wait_until_all_vector(group, team, words, count, cmp, values, status);
  mine.any_vector = wait_until_any_vector(group, team, words, count, cmp, values, status);
  mine.some_vector = wait_until_some_vector(group, team, words, count, own + count + 1, cmp, values, status);
  mine.stopped = team.stopped();
}

struct Case {
  std::size_t count;
  Cmp cmp;
  std::vector<int> status;  // empty: null is passed
};

template <class W>
void check_case(World& world, W* words, const Case& c, std::uint64_t seed) {
  using T = WaitValue<W>;
  constexpr std::size_t kUnwritten = 0x5a5a5a5a;
  const T value = static_cast<T>(seed % 4);
  const std::vector<T> values(std::max<std::size_t>(c.count, 1), value);
  const int* status = c.status.empty() ? nullptr : c.status.data();
  std::vector<std::size_t> met, counted;
  for (std::size_t i = 0; i < c.count; ++i) {
    if (status != nullptr && status[i] != 0) continue;
    counted.push_back(i);
    if (holds(value_of(words[i]), c.cmp, value)) met.push_back(i);
  }
  const bool all = met.size() == counted.size();
  // Without waiting.
  std::vector<std::size_t> found(c.count + 1, kUnwritten);
  const auto expect_indices = [&](const std::size_t* indices) {
    for (std::size_t i = 0; i < met.size(); ++i) EXPECT_EQ(indices[i], met[i]);
    for (std::size_t i = met.size(); i < c.count + 1; ++i) EXPECT_EQ(indices[i], kUnwritten);
  };
  EXPECT_EQ(test_all(words, c.count, c.cmp, value, status), all);
  EXPECT_EQ(test_all_vector(words, c.count, c.cmp, values.data(), status), all);
  EXPECT_EQ(test_any(words, c.count, c.cmp, value, status), met.empty() ? kNoIndex : met[0]);
  EXPECT_EQ(test_any_vector(words, c.count, c.cmp, values.data(), status), met.empty() ? kNoIndex : met[0]);
  EXPECT_EQ(test_some(words, c.count, found.data(), c.cmp, value, status), met.size());
  expect_indices(found.data());
  std::fill(found.begin(), found.end(), kUnwritten);
  EXPECT_EQ(test_some_vector(words, c.count, found.data(), c.cmp, values.data(), status), met.size());
  expect_indices(found.data());
  if (met.empty() && !counted.empty()) return;  // a wait would be in vain
  each_group([&]<class G>() {
    std::array<Answers, kThreads> answers{};
    std::vector<std::size_t> indices(kThreads * 2 * (c.count + 1), kUnwritten);
    world.launch<ask<G, W>>({.block = kThreads}, world.team(), words, c.count, c.cmp, value, values.data(), status,
                            indices.data(), all, answers.data());
    world.synchronize();
    for (const Answers& answer : answers) {
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
    expect_indices(indices.data());
    expect_indices(indices.data() + c.count + 1);
  });
}

template <class W>
void check_cases(World& world) {
  constexpr std::size_t kWords = 9;
  auto words = world.alloc<W>(kWords);
  std::mt19937_64 random(static_cast<std::uint64_t>(world.rank()) * 101 + sizeof(W));
  for (int round = 0; round < 30; ++round) {
    for (W& word : words) value_of(word) = static_cast<WaitValue<W>>(random() % 4);
    Case c{random() % (kWords + 1), kCmps[random() % 6], {}};
    const std::uint64_t masks = random() % 4;  // none, some, most, all
    for (std::size_t i = 0; masks != 0 && i < kWords; ++i)
      c.status.push_back(masks == 3 || random() % 3 < masks ? static_cast<int>(1 + random() % 5) : 0);
    check_case(world, words.data(), c, random());
  }
  // Nothing to wait for.
  check_case(world, words.data(), Case{0, Cmp::eq, {}}, 1);
  check_case(world, words.data(), Case{kWords, Cmp::eq, std::vector<int>(kWords, -1)}, 1);
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
