// Litmus tests of barriers, syncs, atomics, fences and whole 16-byte accesses.
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/litmus.hpp"
#include "support/symmetric.hpp"

namespace isotope {
namespace {

using testing::fill;
using testing::kLitmusPes;
using testing::kLitmusRounds;
using testing::litmus_value;

class LitmusSync : public testing::JobTest {};
ISOTOPE_LITMUS_SHAPES(LitmusSync);

constexpr std::uint64_t kPoison = 0xdeadbeefdeadbeefu;
constexpr std::size_t kSlots = 8;  // a cache line

// Memory of a round is used again two rounds later: a PE that has passed a barrier knows that all have read what the
// barrier before it showed.
ISOTOPE_HD Span<std::uint64_t> slots_of(Span<std::uint64_t> slots, std::uint64_t round) {
  return slots.subspan(round % 2 * kSlots, kSlots);
}

/// Runs a kernel that counts what it finds wrong, over two sets of poisoned slots.
template <auto Kernel>
void run_over_slots(World& world) {
  auto slots = world.alloc<std::uint64_t>(2 * kSlots);
  auto wrong = world.alloc_zeroed<std::uint64_t>(1);
  fill(slots, kPoison);
  world.barrier();
  world.launch<Kernel>({}, world.team(), slots.span(), wrong.span());
  world.synchronize();
  EXPECT_EQ(wrong.get(0), 0u);
  world.barrier();
}

// ---- barrier --------------------------------------------------------------------------------------------------------
ISOTOPE_KERNEL void write_to_all(Team team, Span<std::uint64_t> slots, Span<std::uint64_t> wrong) {
  const Thread self = this_thread();
  const int me = team.rank();
  for (std::uint64_t round = 1; round <= kLitmusRounds; ++round) {
    const Span<std::uint64_t> now = slots_of(slots, round);
    std::uint64_t values[kLitmusPes];
    for (int step = 0; step < team.size(); ++step) {
      const int to = (me + step) % team.size();
      values[to] = litmus_value(me, to, round, 0);
      // The barrier completes non-blocking puts as well.
      if (step % 2 == 0) {
        p(team, &now[static_cast<std::size_t>(me)], values[to], to);
      } else {
        put_nbi(self, team, now.subspan(static_cast<std::size_t>(me), 1), Span<const std::uint64_t>(&values[to], 1),
                to);
      }
    }
    if (!barrier(self, team)) return;
    for (int from = 0; from < team.size(); ++from) {
      wrong[0] += now[static_cast<std::size_t>(from)] != litmus_value(from, me, round, 0);
      now[static_cast<std::size_t>(from)] = kPoison;
    }
  }
}

TEST_P(LitmusSync, BarrierShowsEverythingToAll) {
  run([](World& world) { run_over_slots<write_to_all>(world); });
}

// ---- sync -----------------------------------------------------------------------------------------------------------
// Everyone writes at home and reads from the others.
ISOTOPE_KERNEL void write_at_home(Team team, Span<std::uint64_t> slots, Span<std::uint64_t> wrong) {
  const Thread self = this_thread();
  const int me = team.rank();
  for (std::uint64_t round = 1; round <= kLitmusRounds; ++round) {
    const Span<std::uint64_t> now = slots_of(slots, round);
    for (int to = 0; to < team.size(); ++to) now[static_cast<std::size_t>(to)] = litmus_value(me, to, round, 0);
    if (round % 2 == 0) {
      if (!sync(self, team)) return;
    } else {
      const Arrival here = arrive(self, team, 1);
      if (!wait(self, team, here)) return;
    }
    for (int step = 1; step < team.size(); ++step) {
      const int from = (me + step) % team.size();
      wrong[0] += g(team, &now[static_cast<std::size_t>(me)], from) != litmus_value(from, me, round, 0);
    }
  }
}

TEST_P(LitmusSync, SyncShowsEarlierStores) {
  run([](World& world) { run_over_slots<write_at_home>(world); });
}

// A relaxed sync promises arrival and orders nothing, so the fences around it do: what is checked is that nobody gets
// past it before all have come.
ISOTOPE_KERNEL void count_arrivals(Team team, Span<std::uint64_t> slots, Span<std::uint64_t> wrong) {
  const Thread self = this_thread();
  for (std::uint64_t round = 1; round <= kLitmusRounds; ++round) {
    store(&slots[0], round);
    fence(Order::release);
    if (!sync(self, team, 7, Order::relaxed)) return;
    fence(Order::acquire);
    for (int pe = 0; pe < team.size(); ++pe) {
      const std::uint64_t there = atomic_fetch(team, &slots[0], pe);
      wrong[0] += there != round && there != round + 1;  // nobody is two rounds ahead of me either
    }
  }
}

TEST_P(LitmusSync, RelaxedSyncWaitsForAll) {
  run([](World& world) { run_over_slots<count_arrivals>(world); });
}

// ---- sequentially consistent fences ---------------------------------------------------------------------------------
// Each PE raises its word and looks at the others: of two, at least one sees the other's. x86 breaks this without the
// fence.
ISOTOPE_KERNEL void raise_and_look(Team team, Span<std::uint64_t> words, Span<std::uint64_t> seen,
                                   Span<std::uint64_t> wrong) {
  const Thread self = this_thread();
  const int me = team.rank();
  for (std::uint64_t round = 1; round <= kLitmusRounds; ++round) {
    std::uint64_t found = 0;
    store(&words[0], round);
    fence(Order::seq_cst);
    for (int step = 1; step < team.size(); ++step) {
      const int pe = (me + step) % team.size();
      if (atomic_fetch(team, &words[0], pe) == round) found |= std::uint64_t{1} << pe;
    }
    seen[round % 2] = found;
    if (!sync(self, team)) return;
    for (int pe = 0; pe < team.size(); ++pe) {
      const bool i_saw = found >> pe & 1, it_saw = g(team, &seen[round % 2], pe) >> me & 1;
      wrong[0] += pe != me && !i_saw && !it_saw;
    }
  }
}

TEST_P(LitmusSync, FencesBetweenStoreAndLoadShowOneToTheOther) {
  run([](World& world) {
    auto words = world.alloc_zeroed<std::uint64_t>(1), seen = world.alloc_zeroed<std::uint64_t>(2);
    auto wrong = world.alloc_zeroed<std::uint64_t>(1);
    world.launch<raise_and_look>({}, world.team(), words.span(), seen.span(), wrong.span());
    world.synchronize();
    EXPECT_EQ(wrong.get(0), 0u);
    world.barrier();
  });
}

// ---- atomics --------------------------------------------------------------------------------------------------------
constexpr std::uint64_t kBatch = 1000;  // PEs meet now and then, so that none is done before another has begun

ISOTOPE_KERNEL void draw_tickets(Team team, Span<std::uint64_t> next, Span<std::uint32_t> drawn,
                                 Span<std::uint64_t> wrong) {
  std::uint64_t last = 0;
  for (std::uint64_t round = 1; round <= kLitmusRounds; ++round) {
    if (round % kBatch == 0 && !sync(this_thread(), team)) return;
    const std::uint64_t ticket =
        round % 2 == 0 ? atomic_fetch_add(team, &next[0], 1u, 0) : atomic_fetch_inc(team, &next[0], 0);
    wrong[0] += round > 1 && ticket <= last;  // one order, and mine are in it as I drew them
    last = ticket;
    if (ticket < drawn.size()) atomic_add(team, &drawn[ticket], 1u, 0);
  }
}

TEST_P(LitmusSync, EachTicketIsDrawnOnce) {
  run([](World& world) {
    const std::uint64_t tickets = kLitmusRounds * static_cast<std::uint64_t>(world.size());
    auto next = world.alloc_zeroed<std::uint64_t>(1), wrong = world.alloc_zeroed<std::uint64_t>(1);
    auto drawn = world.alloc_zeroed<std::uint32_t>(tickets);
    world.launch<draw_tickets>({}, world.team(), next.span(), drawn.span(), wrong.span());
    world.synchronize();
    world.barrier();
    EXPECT_EQ(wrong.get(0), 0u);
    if (world.rank() == 0) {
      EXPECT_EQ(next.get(0), tickets);
      std::uint64_t not_once = 0;
      for (const std::uint32_t times : drawn.read()) not_once += times != 1;
      EXPECT_EQ(not_once, 0u);
    }
    world.barrier();
  });
}

// All PEs change the same words of PE 0, in every way.
struct Shared {
  std::uint64_t sum64, bits64, swapped, exchanged, count64;
  std::uint32_t sum32, bits32, exchanged32, count32;
  float sum_float;
  double sum_double;
};
constexpr double kHalf = 0.5;

template <class T>
ISOTOPE_HD std::uint64_t toggle_own_bit(const Team& team, T* word) {
  const T mine = T{1} << (team.rank() * 5);
  std::uint64_t wrong = 0;
  wrong += (atomic_fetch_or(team, word, mine, 0) & mine) != 0;
  wrong += (atomic_fetch_and(team, word, static_cast<T>(~mine), 0) & mine) == 0;
  wrong += (atomic_fetch_xor(team, word, mine, 0) & mine) != 0;
  wrong += (atomic_fetch_xor(team, word, mine, 0) & mine) == 0;
  return wrong;
}

template <class T>
ISOTOPE_HD void add_one_by_compare_swap(const Team& team, T* word) {
  T found = atomic_fetch(team, word, 0);
  for (;;) {
    const T before = atomic_compare_swap(team, word, found, static_cast<T>(found + 1), 0);
    if (before == found) return;
    found = before;
  }
}

/// `balance`: what this PE has swapped in less what it has swapped out.
ISOTOPE_KERNEL void change_together(Team team, Span<Shared> shared, Span<std::uint64_t> balance,
                                    Span<std::uint64_t> wrong) {
  Shared* s = shared.data();
  for (std::uint64_t round = 1; round <= kLitmusRounds; ++round) {
    if (round % kBatch == 0 && !sync(this_thread(), team)) return;
    atomic_add(team, &s->sum64, round << 20, 0);
    atomic_add(team, &s->sum32, 3u, 0);
    atomic_inc(team, &s->count64, 0);
    atomic_inc(team, &s->count32, 0);
    atomic_add(team, &s->sum_float, 1.0f, 0);
    atomic_add(team, &s->sum_double, kHalf, 0);
    wrong[0] += toggle_own_bit(team, &s->bits64) + toggle_own_bit(team, &s->bits32);
    add_one_by_compare_swap(team, &s->exchanged);
    add_one_by_compare_swap(team, &s->exchanged32);
    const std::uint64_t token = litmus_value(team.rank(), 0, round, 0);
    balance[0] += token - atomic_swap(team, &s->swapped, token, 0);
  }
}

TEST_P(LitmusSync, NoAtomicIsLost) {
  run([](World& world) {
    auto shared = world.alloc_zeroed<Shared>(1);
    auto balance = world.alloc_zeroed<std::uint64_t>(1), wrong = world.alloc_zeroed<std::uint64_t>(1);
    world.launch<change_together>({}, world.team(), shared.span(), balance.span(), wrong.span());
    world.synchronize();
    world.barrier();
    EXPECT_EQ(wrong.get(0), 0u);
    const std::vector<std::uint64_t> balances = testing::gather(world, balance);
    if (world.rank() == 0) {
      const auto pes = static_cast<std::uint64_t>(world.size()), times = pes * kLitmusRounds;
      const Shared s = shared.get(0);
      EXPECT_EQ(s.sum64, pes * (kLitmusRounds * (kLitmusRounds + 1) / 2 << 20));
      EXPECT_EQ(s.sum32, 3 * times);
      EXPECT_EQ(s.count64, times);
      EXPECT_EQ(s.count32, times);
      EXPECT_EQ(s.sum_float, static_cast<float>(times));  // under 2^24: exact
      EXPECT_EQ(s.sum_double, kHalf * static_cast<double>(times));
      EXPECT_EQ(s.bits64, 0u);
      EXPECT_EQ(s.bits32, 0u);
      EXPECT_EQ(s.exchanged, times);
      EXPECT_EQ(s.exchanged32, times);
      EXPECT_EQ(s.swapped, std::accumulate(balances.begin(), balances.end(), std::uint64_t{0}))
          << "a value was swapped out twice, or never";
    }
    world.barrier();
  });
}

// ---- 16 bytes as a whole --------------------------------------------------------------------------------------------
// Everyone stores to everyone's word. A value names writer and round, and its halves belong together.
ISOTOPE_KERNEL void store_whole(Team team, Span<Bits128> word, Span<std::uint64_t> wrong) {
  std::uint64_t last[kLitmusPes] = {};
  for (std::uint64_t round = 1; round <= kLitmusRounds; ++round) {
    if (round % kBatch == 0 && !sync(this_thread(), team)) return;
    const std::uint64_t tag = round * kLitmusPes + static_cast<std::uint64_t>(team.rank());
    for (int step = 0; step < team.size(); ++step)
      store16(team.at(word.data(), (team.rank() + step) % team.size()), {tag, tag * 0x9e3779b97f4a7c15u});
    for (int pe = 0; pe < team.size(); ++pe) {
      const Bits128 found = load16(team.at(word.data(), pe));
      wrong[0] += found.high != found.low * 0x9e3779b97f4a7c15u;
      if (pe != team.rank()) continue;
      std::uint64_t& before = last[found.low % kLitmusPes];
      wrong[0] += found.low < before;  // one word has one order: a writer's stores do not come back
      before = found.low;
    }
  }
}

TEST_P(LitmusSync, SixteenBytesAreNeverTorn) {
  run([](World& world) {
    auto word = world.alloc_zeroed<Bits128>(1);
    auto wrong = world.alloc_zeroed<std::uint64_t>(1);
    world.launch<store_whole>({}, world.team(), word.span(), wrong.span());
    world.synchronize();
    EXPECT_EQ(wrong.get(0), 0u);
    world.barrier();
  });
}

}  // namespace
}  // namespace isotope
