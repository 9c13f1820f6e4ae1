// Remote atomics, one after the other: every operation of every type leaves and fetches exactly what it should.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "support/atomic_values.hpp"
#include "support/job_shape.hpp"
#include "support/symmetric.hpp"

namespace isotope {
namespace {

using testing::equal, testing::fill, testing::number, testing::poison;

class Atomics : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(Atomics);

/// A number of this PE's own, far from 0 and different for every round.
template <class T>
ISOTOPE_HD T own(int me, int round) {
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
    return static_cast<T>(-(1000 + me * 64 + round * 7));
  else if constexpr (is_narrow_float<T>)
    return T(static_cast<float>(4 + me % 4 + round));  // every sum of five rounds is exact
  else
    return static_cast<T>(1000 + me * 64 + round * 7);
}

/// What the steps fetched, in their order, and what the word holds then.
template <class T>
struct Outcome {
  T fetched[12];
  T last;
};

template <class T>
ISOTOPE_KERNEL void steps(Team team, T* words, Outcome<T>* outcomes, int round) {
  const int me = team.rank();
  T* word = &words[me];
  for (int pe = 0; pe < team.size(); ++pe) {
    T* fetched = outcomes[pe].fetched;
    const T x = own<T>(me, round);
    const Order order = static_cast<Order>(round % 5);
    if constexpr (is_narrow_float<T>) {
      *fetched++ = atomic_fetch_add(team, word, x, pe, order);
      atomic_add(team, word, T(-1.5f), pe, order);
      *fetched++ = atomic_fetch_add(team, word, T(0.5f), pe, order);
    } else {
      atomic_set(team, word, x, pe, order);
      *fetched++ = atomic_fetch(team, word, pe, order);
      *fetched++ = atomic_swap(team, word, static_cast<T>(x + 5), pe, order);
      atomic_add(team, word, T{3}, pe, order);
      *fetched++ = atomic_fetch_add(team, word, static_cast<T>(-2), pe, order);
      if constexpr (std::is_integral_v<T>) {
        *fetched++ = atomic_compare_swap(team, word, static_cast<T>(x + 999), T{1}, pe, order);  // is not there
        *fetched++ = atomic_compare_swap(team, word, static_cast<T>(x + 6), T{0x70}, pe, order);
        atomic_inc(team, word, pe, order);
        *fetched++ = atomic_fetch_inc(team, word, pe, order);
        atomic_or(team, word, T{0x0f}, pe, order);
        *fetched++ = atomic_fetch_or(team, word, T{0x100}, pe, order);
        atomic_and(team, word, T{0x1f7}, pe, order);
        *fetched++ = atomic_fetch_and(team, word, static_cast<T>(~T{0x40}), pe, order);
        atomic_xor(team, word, T{0x3}, pe, order);
        *fetched++ = atomic_fetch_xor(team, word, static_cast<T>(~T{0}), pe, order);
      }
    }
    if constexpr (is_narrow_float<T>)
      outcomes[pe].last = *team.at(word, pe);
    else
      outcomes[pe].last = atomic_fetch(team, word, pe, order);
  }
}

/// The same by hand.
template <class T>
std::vector<T> expected_fetches(T before, T x) {
  if constexpr (is_narrow_float<T>) {
    const float sum = static_cast<float>(before) + static_cast<float>(x);
    return {before, T(sum - 1.5f)};
  } else {
    std::vector<T> list = {x, x, static_cast<T>(x + 8)};
    if constexpr (std::is_integral_v<T>) {
      const T more[] = {static_cast<T>(x + 6), static_cast<T>(x + 6), T{0x71}, T{0x7f}, T{0x177}, T{0x134}};
      list.insert(list.end(), std::begin(more), std::end(more));
    }
    return list;
  }
}
template <class T>
T expected_last(T before, T x) {
  if constexpr (is_narrow_float<T>)
    return T(static_cast<float>(before) + static_cast<float>(x) - 1.0f);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(~T{0x134});
  else
    return static_cast<T>(x + 6);
}

template <class T>
void check_steps(World& world) {
  const auto pes = static_cast<std::size_t>(world.size());
  auto words = world.alloc<T>(pes + 2);
  auto outcomes = world.alloc<Outcome<T>>(pes);
  std::vector<T> before(pes, number<T>(0));
  fill(words, poison<T>());
  words.write(before);
  Outcome<T> none;
  std::fill(std::begin(none.fetched), std::end(none.fetched), poison<T>());
  none.last = poison<T>();
  world.barrier();
  for (int round = 0; round < 5; ++round) {
    fill(outcomes, none);
    // Each PE has a word of its own on every other.
    world.launch<steps<T>>({}, world.team(), words.data(), outcomes.data(), round);
    world.synchronize();
    const T x = own<T>(world.rank(), round);
    const std::vector<Outcome<T>> outcome = outcomes.read();
    for (std::size_t pe = 0; pe < pes; ++pe) {
      const std::vector<T> expected = expected_fetches(before[pe], x);
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_TRUE(equal(outcome[pe].fetched[i], expected[i])) << "fetch " << i << " from PE " << pe;
      for (std::size_t i = expected.size(); i < 12; ++i) EXPECT_TRUE(equal(outcome[pe].fetched[i], poison<T>()));
      before[pe] = expected_last(before[pe], x);
      EXPECT_TRUE(equal(outcome[pe].last, before[pe])) << "last value on PE " << pe;
    }
    world.barrier();
    const std::vector<T> found = words.read();
    for (std::size_t pe = 0; pe < pes; ++pe) {  // what the others left here: narrow words remember earlier rounds
      T mine = number<T>(0);
      for (int r = 0; r <= round; ++r) mine = expected_last(mine, own<T>(static_cast<int>(pe), r));
      EXPECT_TRUE(equal(found[pe], mine)) << "word of PE " << pe;
    }
    EXPECT_TRUE(equal(found[pes], poison<T>()) && equal(found[pes + 1], poison<T>())) << "written beside the words";
    world.barrier();
  }
}

TEST_P(Atomics, EveryOperationOfEveryType) {
  run([](World& world) {
    check_steps<std::int32_t>(world);
    check_steps<std::uint32_t>(world);
    check_steps<std::int64_t>(world);
    check_steps<std::uint64_t>(world);
    check_steps<long long>(world);
    check_steps<unsigned long long>(world);
    check_steps<float>(world);
    check_steps<double>(world);
    check_steps<f16>(world);
    check_steps<bf16>(world);
  });
}

}  // namespace
}  // namespace isotope
