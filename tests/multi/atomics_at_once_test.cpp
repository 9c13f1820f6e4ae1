// Remote atomics by all PEs at once on the same words: nothing is lost, and each number is fetched once.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "support/atomic_values.hpp"
#include "support/job_shape.hpp"
#include "support/symmetric.hpp"

namespace isotope {
namespace {

using testing::equal, testing::fill, testing::gather, testing::number, testing::poison;

class AtomicsAtOnce : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(AtomicsAtOnce);

constexpr int kTimes = 32;
constexpr std::uint32_t kThreads = 4;
enum Kind { add_tickets, inc_tickets, swap_ids, compare_swap_tickets, kKinds };

/// Every thread of every PE takes numbers from words of PE `home`, and writes down what it got.
template <class T>
ISOTOPE_KERNEL void take_numbers(Team team, T* words, T* taken, int home) {
  const auto thread = static_cast<int>(this_block().thread_rank());
  const int first = (team.rank() * static_cast<int>(kThreads) + thread) * kTimes;
  for (int i = 0; i < kTimes; ++i) {
    T* mine = &taken[(thread * kTimes + i) * kKinds];
    mine[add_tickets] = atomic_fetch_add(team, &words[add_tickets], T{1}, home);
    mine[inc_tickets] = atomic_fetch_inc(team, &words[inc_tickets], home);
    mine[swap_ids] = atomic_swap(team, &words[swap_ids], static_cast<T>(first + i + 1), home);
    T seen = atomic_fetch(team, &words[compare_swap_tickets], home);
    for (;;) {
      const T found = atomic_compare_swap(team, &words[compare_swap_tickets], seen, static_cast<T>(seen + 1), home);
      if (found == seen) break;
      seen = found;
    }
    mine[compare_swap_tickets] = seen;
  }
}

template <class T>
void check_numbers(World& world) {
  constexpr std::size_t kEach = kThreads * kTimes;
  const auto pes = static_cast<std::size_t>(world.size());
  auto words = world.alloc<T>(kKinds);
  auto taken = world.alloc<T>(kEach * kKinds);
  for (int home = 0; home < world.size(); home += std::max(1, world.size() - 1)) {
    fill(words, T{0});
    fill(taken, T{0x5a5a5a});
    world.barrier();
    world.launch<take_numbers<T>>({.block = kThreads}, world.team(), words.data(), taken.data(), home);
    world.synchronize();
    world.barrier();
    const std::vector<T> found = words.read(), taken_by_all = gather(world, taken);
    if (world.rank() == home) {
      for (std::size_t kind = 0; kind < kKinds; ++kind) {
        std::vector<T> all;
        all.reserve(pes * kEach + 1);
        for (std::size_t i = 0; i < pes * kEach; ++i) all.push_back(taken_by_all[i * kKinds + kind]);
        // Swaps: all that was put in has come out, but for the last, which is still there.
        if (kind == swap_ids) all.push_back(found[swap_ids]);
        std::sort(all.begin(), all.end());
        for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<T>(i)) << "kind " << kind;
        if (kind != swap_ids) {
          EXPECT_EQ(found[kind], static_cast<T>(pes * kEach));
        }
      }
    } else {
      for (T word : found) EXPECT_EQ(word, T{0}) << "changed on a PE that is not the target";
    }
    world.barrier();
  }
}

TEST_P(AtomicsAtOnce, EveryNumberIsTakenOnce) {
  run([](World& world) {
    check_numbers<std::int32_t>(world);
    check_numbers<std::uint32_t>(world);
    check_numbers<std::int64_t>(world);
    check_numbers<std::uint64_t>(world);
  });
}

// Sums of ones and bits of their own, without fetch, in the words of every PE at once.
template <class T>
ISOTOPE_KERNEL void give_ones(Team team, T* words, int times) {
  for (int i = 0; i < times; ++i) {
    for (int pe = 0; pe < team.size(); ++pe) {
      atomic_add(team, &words[0], number<T>(1), pe);
      atomic_add(team, &words[1], number<T>(-1), pe);  // shares a word with the first, for a narrow type
      if constexpr (std::is_integral_v<T>) {
        const std::uint32_t id = static_cast<std::uint32_t>(team.rank()) * kThreads + this_block().thread_rank();
        const T bit = static_cast<T>(T{1} << id % 31);
        atomic_inc(team, &words[2], pe);
        atomic_xor(team, &words[3], bit, pe);
        atomic_or(team, &words[4], bit, pe);
        atomic_and(team, &words[5], static_cast<T>(~bit), pe);
      }
    }
  }
}

template <class T>
void check_sums(World& world) {
  const int threads = world.size() * static_cast<int>(kThreads);
  // As many ones as the type can count.
  const int times = std::is_same_v<T, bf16> ? 256 / threads : 51;
  auto words = world.alloc<T>(8);
  for (int round = 0; round < 3; ++round) {
    std::vector<T> first(words.size(), number<T>(0));
    if constexpr (std::is_integral_v<T>) first[5] = static_cast<T>(~T{0});
    first[6] = first[7] = poison<T>();
    words.write(first);
    world.barrier();
    world.launch<give_ones<T>>({.block = kThreads}, world.team(), words.data(), times);
    world.synchronize();
    world.barrier();
    const std::vector<T> found = words.read();
    EXPECT_TRUE(equal(found[0], number<T>(threads * times)));
    EXPECT_TRUE(equal(found[1], number<T>(-threads * times)));
    if constexpr (std::is_integral_v<T>) {
      T bits = 0, toggled = 0;
      for (int t = 0; t < threads; ++t) {
        bits |= static_cast<T>(T{1} << t % 31);
        if (times % 2 != 0) toggled ^= static_cast<T>(T{1} << t % 31);
      }
      EXPECT_EQ(found[2], static_cast<T>(threads * times));
      EXPECT_EQ(found[3], toggled);
      EXPECT_EQ(found[4], bits);
      EXPECT_EQ(found[5], static_cast<T>(~bits));
    }
    EXPECT_TRUE(equal(found[6], poison<T>()) && equal(found[7], poison<T>()));
    world.barrier();
  }
}

TEST_P(AtomicsAtOnce, NothingIsLost) {
  run([](World& world) {
    check_sums<std::int32_t>(world);
    check_sums<std::uint32_t>(world);
    check_sums<std::int64_t>(world);
    check_sums<std::uint64_t>(world);
    check_sums<float>(world);
    check_sums<double>(world);
    check_sums<f16>(world);
    check_sums<bf16>(world);
  });
}

}  // namespace
}  // namespace isotope
