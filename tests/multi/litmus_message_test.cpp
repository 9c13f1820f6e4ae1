// Litmus tests of messages: whoever sees a signal sees what was written before it, and sees every signal once.
#include <cstdint>
#include <vector>

#include "support/litmus.hpp"
#include "support/symmetric.hpp"

namespace isotope {
namespace {

using testing::fill;
using testing::kLitmusPes;
using testing::kLitmusRounds;
using testing::litmus_value;

class LitmusMessage : public testing::JobTest {};
ISOTOPE_LITMUS_SHAPES(LitmusMessage);

constexpr std::uint64_t kPoison = 0xdeadbeefdeadbeefu;

ISOTOPE_HD int right_of(const Team& team) { return (team.rank() + 1) % team.size(); }
ISOTOPE_HD int left_of(const Team& team) { return (team.rank() + team.size() - 1) % team.size(); }

// ---- put_signal -----------------------------------------------------------------------------------------------------
constexpr std::size_t kWords = 9;  // more than one cache line

// Two slots, so that a sender is up to one message ahead of its acknowledgement.
ISOTOPE_KERNEL void put_signal_ring(Team team, Span<std::uint64_t> inbox, Span<Signal> signals,
                                    Span<std::uint64_t> wrong) {
  const Thread self = this_thread();
  Signal *arrived = &signals[0], *taken = &signals[8];
  const int right = right_of(team), left = left_of(team);
  std::uint64_t out[kWords];
  for (std::uint64_t round = 1; round <= kLitmusRounds; ++round) {
    if (round > 2 && !wait_until(self, team, taken, Cmp::ge, round - 2, Order::acquire, right)) return;
    for (std::size_t i = 0; i < kWords; ++i) out[i] = litmus_value(team.rank(), right, round, i);
    const Span<std::uint64_t> slot = inbox.subspan(round % 2 * kWords, kWords);
    const bool add = round % 4 < 2;  // either leaves the round in the signal
    put_signal(self, team, slot, Span<const std::uint64_t>(out, kWords), arrived, add ? 1 : round,
               add ? SignalOp::add : SignalOp::set, right);
    if (!wait_until(self, team, arrived, Cmp::ge, round, Order::acquire, left)) return;
    for (std::size_t i = 0; i < kWords; ++i) {
      wrong[0] += slot[i] != litmus_value(left, team.rank(), round, i);
      slot[i] = kPoison;
    }
    signal(self, team, taken, 1, SignalOp::add, left);
  }
}

TEST_P(LitmusMessage, PutSignalShowsTheDataFirst) {
  run([](World& world) {
    auto inbox = world.alloc<std::uint64_t>(2 * kWords);
    auto signals = world.alloc_zeroed<Signal>(16);
    auto wrong = world.alloc_zeroed<std::uint64_t>(1);
    fill(inbox, kPoison);
    world.barrier();
    world.launch<put_signal_ring>({}, world.team(), inbox.span(), signals.span(), wrong.span());
    world.synchronize();
    EXPECT_EQ(wrong.get(0), 0u);
    EXPECT_EQ(signals.get(0).value, kLitmusRounds);
    world.barrier();
  });
}

// ---- put_nbi, fence, flag -------------------------------------------------------------------------------------------
// The flag is an atomic of the leader, which does nothing for the rest of the block by itself: only the fence makes the
// others' shares of the put come first.
#if defined(__SANITIZE_THREAD__)
constexpr Order kAfterFence = Order::release;  // the thread sanitizer does not know fences
#else
constexpr Order kAfterFence = Order::relaxed;
#endif  // __SANITIZE_THREAD__
constexpr std::uint32_t kFenceThreads = 4;
constexpr std::size_t kFenceWords = 8 * kFenceThreads;  // a cache line for each thread

ISOTOPE_KERNEL void fence_ring(Team team, Span<std::uint64_t> inbox, Span<std::uint64_t> outbox,
                               Span<std::uint64_t> flags, Span<Signal> taken, Span<std::uint64_t> wrong) {
  const Block block = this_block();
  const int right = right_of(team), left = left_of(team);
  for (std::uint64_t round = 1; round <= kLitmusRounds; ++round) {
    if (round > 2 && !wait_until(block, team, &taken[0], Cmp::ge, round - 2, Order::acquire, right)) return;
    const std::size_t first = round % 2 * kFenceWords;
    const Span<std::uint64_t> out = outbox.subspan(first, kFenceWords), in = inbox.subspan(first, kFenceWords);
    for (std::size_t i = block.thread_rank(); i < kFenceWords; i += block.size())
      out[i] = litmus_value(team.rank(), right, round, i);
    block.sync();
    put_nbi(block, team, in, out, right);
    fence(block, team);
    if (block.is_leader()) atomic_set(team, &flags[0], round, right, kAfterFence);
    if (!wait_until(block, team, &flags[0], Cmp::ge, round, Order::acquire, left)) return;
    for (std::size_t i = block.thread_rank(); i < kFenceWords; i += block.size()) {
      if (in[i] != litmus_value(left, team.rank(), round, i)) fetch_add(&wrong[0], 1u);
      in[i] = kPoison;
    }
    signal(block, team, &taken[0], 1, SignalOp::add, left);
    quiet(block, team);  // the outbox is written again two rounds on
  }
}

TEST_P(LitmusMessage, FenceOrdersPutsOfAGroupBeforeAFlag) {
  run([](World& world) {
    auto inbox = world.alloc<std::uint64_t>(2 * kFenceWords), outbox = world.alloc<std::uint64_t>(2 * kFenceWords);
    auto flags = world.alloc_zeroed<std::uint64_t>(1);
    auto taken = world.alloc_zeroed<Signal>(1);
    auto wrong = world.alloc_zeroed<std::uint64_t>(1);
    fill(inbox, kPoison);
    world.barrier();
    world.launch<fence_ring>({.block = kFenceThreads}, world.team(), inbox.span(), outbox.span(), flags.span(),
                             taken.span(), wrong.span());
    world.synchronize();
    EXPECT_EQ(wrong.get(0), 0u);
    world.barrier();
  });
}

// ---- atomics that release, and waits for one value ------------------------------------------------------------------
// One message at a time, each told by another atomic that fetches nothing. The reader has its words in the nearest
// cache, and they lie in pages of their own, some of them farther away than the tally.
constexpr std::size_t kPage = 4096 / sizeof(std::uint64_t);
struct Tallies {
  std::uint64_t sum, toggled;
  std::uint32_t small_sum, bit;
};
ISOTOPE_KERNEL void atomic_ring(Team team, Span<std::uint64_t> inbox, Span<Tallies> tallies, Span<Signal> taken,
                                Span<std::uint64_t> wrong) {
  const Thread self = this_thread();
  const int right = right_of(team), left = left_of(team);
  Tallies* mine = &tallies[0];
  for (std::uint64_t round = 1; round <= kLitmusRounds; ++round) {
    const std::uint64_t told = (round + 3) / 4;  // by this kind, with this round
    if (!wait_until(self, team, &taken[0], Cmp::eq, round - 1, Order::acquire, right)) return;
    for (std::size_t i = 0; i < kWords; ++i)
      p(team, &inbox[i * kPage], litmus_value(team.rank(), right, round, i), right);
    bool met = false;
    if (round % 4 == 0) {
      atomic_add(team, &mine->sum, 1, right, Order::release);
      met = wait_until(self, team, &mine->sum, Cmp::eq, told, Order::acquire, left);
    } else if (round % 4 == 1) {
      atomic_xor(team, &mine->toggled, told ^ (told - 1), right, Order::release);
      met = wait_until(self, team, &mine->toggled, Cmp::eq, told, Order::acquire, left);
    } else if (round % 4 == 2) {
      atomic_add(team, &mine->small_sum, 1, right, Order::release);
      met = wait_until(self, team, &mine->small_sum, Cmp::eq, static_cast<std::uint32_t>(told), Order::acquire, left);
    } else if (told % 2 == 1) {
      atomic_or(team, &mine->bit, 4, right, Order::release);
      met = wait_until(self, team, &mine->bit, Cmp::ne, 0, Order::acquire, left);
    } else {
      atomic_and(team, &mine->bit, ~4u, right, Order::release);
      met = wait_until(self, team, &mine->bit, Cmp::lt, 4, Order::acquire, left);
    }
    if (!met) return;
    for (std::size_t i = 0; i < kWords; ++i) wrong[0] += inbox[i * kPage] != litmus_value(left, team.rank(), round, i);
    signal(self, team, &taken[0], 1, SignalOp::add, left);
  }
}

TEST_P(LitmusMessage, AtomicsThatReleaseShowTheDataFirst) {
  run([](World& world) {
    auto inbox = world.alloc<std::uint64_t>(kWords * kPage);
    auto tallies = world.alloc_zeroed<Tallies>(1);
    auto taken = world.alloc_zeroed<Signal>(1);
    auto wrong = world.alloc_zeroed<std::uint64_t>(1);
    fill(inbox, kPoison);
    world.barrier();
    world.launch<atomic_ring>({}, world.team(), inbox.span(), tallies.span(), taken.span(), wrong.span());
    world.synchronize();
    world.barrier();
    EXPECT_EQ(wrong.get(0), 0u);
    EXPECT_EQ(taken.get(0).value, kLitmusRounds);
    world.barrier();
  });
}

// ---- what one PE wrote is seen along a chain of signals -------------------------------------------------------------
// PE 0 writes to everyone and tells PE 1 alone; each tells the next. Everyone who is told has PE 0's data.
ISOTOPE_KERNEL void relay(Team team, Span<std::uint64_t> board, Span<Signal> token, Span<std::uint64_t> wrong) {
  const Thread self = this_thread();
  for (std::uint64_t round = 1; round <= kLitmusRounds; ++round) {
    if (team.rank() == 0) {
      for (int pe = team.size() - 1; pe > 0; --pe) p(team, &board[0], litmus_value(0, pe, round, 0), pe);
      signal(self, team, &token[0], 1, SignalOp::add, 1);
    }
    if (!wait_until(self, team, &token[0], Cmp::ge, round, Order::acquire, left_of(team))) return;
    if (team.rank() == 0) continue;
    wrong[0] += board[0] != litmus_value(0, team.rank(), round, 0);
    board[0] = kPoison;
    signal(self, team, &token[0], 1, SignalOp::add, right_of(team));
  }
}

TEST_P(LitmusMessage, ASignalPassesOnWhatItsSenderHasSeen) {
  run([](World& world) {
    auto board = world.alloc_zeroed<std::uint64_t>(1);
    auto token = world.alloc_zeroed<Signal>(1);
    auto wrong = world.alloc_zeroed<std::uint64_t>(1);
    world.launch<relay>({}, world.team(), board.span(), token.span(), wrong.span());
    world.synchronize();
    EXPECT_EQ(wrong.get(0), 0u);
    EXPECT_EQ(token.get(0).value, kLitmusRounds);
    world.barrier();
  });
}

// ---- any and some ---------------------------------------------------------------------------------------------------
struct Mail {
  Span<std::uint64_t> letters;  // [parity][sender]: whoever has everyone's letter of the next round may overwrite
  Span<Signal> flags;           // [sender]
  Span<std::uint64_t> wrong;
};

ISOTOPE_HD void send_to_all(const Team& team, const Mail& mail, std::uint64_t round) {
  for (int step = 1; step < team.size(); ++step) {
    const int to = (team.rank() + step) % team.size();
    const std::uint64_t letter = litmus_value(team.rank(), to, round, 0);
    const std::size_t place = round % 2 * kLitmusPes + static_cast<std::size_t>(team.rank());
    put_signal(this_thread(), team, mail.letters.subspan(place, 1), Span<const std::uint64_t>(&letter, 1),
               &mail.flags[static_cast<std::size_t>(team.rank())], 1, SignalOp::add, to);
  }
}

/// Sender `from` was seen in this round: for the first time, with the right letter?
ISOTOPE_HD void receive(const Team& team, const Mail& mail, std::uint64_t round, std::size_t from, int* done) {
  if (from >= static_cast<std::size_t>(team.size()) || done[from] != 0) {
    ++mail.wrong[0];
    return;
  }
  done[from] = 1;
  std::uint64_t& letter = mail.letters[round % 2 * kLitmusPes + from];
  mail.wrong[0] += letter != litmus_value(static_cast<int>(from), team.rank(), round, 0);
  letter = kPoison;
}

ISOTOPE_KERNEL void all_to_all_any(Team team, Mail mail) {
  const Thread self = this_thread();
  const auto members = static_cast<std::size_t>(team.size());
  for (std::uint64_t round = 1; round <= kLitmusRounds; ++round) {
    std::uint64_t rounds[kLitmusPes];
    int done[kLitmusPes] = {};
    done[team.rank()] = 1;
    for (std::uint64_t& each : rounds) each = round;
    send_to_all(team, mail, round);
    for (std::size_t seen = 1; seen < members; ++seen) {
      const std::size_t from =
          round % 2 == 0 ? wait_until_any(self, team, mail.flags.data(), members, Cmp::ge, round, done)
                         : wait_until_any_vector(self, team, mail.flags.data(), members, Cmp::ge, rounds, done);
      if (team.stopped()) return;
      receive(team, mail, round, from, done);
    }
    mail.wrong[0] += wait_until_any(self, team, mail.flags.data(), members, Cmp::ge, round, done) != kNoIndex;
  }
}

ISOTOPE_KERNEL void all_to_all_some(Team team, Mail mail) {
  const Thread self = this_thread();
  const auto members = static_cast<std::size_t>(team.size());
  for (std::uint64_t round = 1; round <= kLitmusRounds; ++round) {
    std::uint64_t rounds[kLitmusPes];
    std::size_t indices[kLitmusPes];
    int done[kLitmusPes] = {};
    done[team.rank()] = 1;
    for (std::uint64_t& each : rounds) each = round;
    send_to_all(team, mail, round);
    for (std::size_t seen = 1; seen < members;) {
      const std::size_t found =
          round % 2 == 0
              ? wait_until_some(self, team, mail.flags.data(), members, indices, Cmp::ge, round, done)
              : wait_until_some_vector(self, team, mail.flags.data(), members, indices, Cmp::ge, rounds, done);
      if (team.stopped()) return;
      if (found == 0 || seen + found > members) {
        ++mail.wrong[0];
        return;
      }
      for (std::size_t i = 0; i < found; ++i) receive(team, mail, round, indices[i], done);
      seen += found;
    }
    mail.wrong[0] += wait_until_some(self, team, mail.flags.data(), members, indices, Cmp::ge, round, done) != 0;
  }
}

template <auto Kernel>
void exchange_mail(World& world) {
  auto letters = world.alloc<std::uint64_t>(2 * kLitmusPes);
  auto flags = world.alloc_zeroed<Signal>(kLitmusPes);
  auto wrong = world.alloc_zeroed<std::uint64_t>(1);
  fill(letters, kPoison);
  world.barrier();
  world.launch<Kernel>({}, world.team(), Mail{letters.span(), flags.span(), wrong.span()});
  world.synchronize();
  EXPECT_EQ(wrong.get(0), 0u);
  world.barrier();
  const std::vector<Signal> found = flags.read();
  for (int pe = 0; pe < world.size(); ++pe)
    EXPECT_EQ(found[static_cast<std::size_t>(pe)].value, pe == world.rank() ? 0 : kLitmusRounds) << "from PE " << pe;
}

TEST_P(LitmusMessage, AnySeesEachSignalOnce) {
  run([](World& world) { exchange_mail<all_to_all_any>(world); });
}

TEST_P(LitmusMessage, SomeSeesEachSignalOnce) {
  run([](World& world) { exchange_mail<all_to_all_some>(world); });
}

// ---- 16 bytes and an epoch ------------------------------------------------------------------------------------------
ISOTOPE_KERNEL void wide_ring(Team team, Span<Bits128> inbox, Epoch arrived, Epoch taken, Span<std::uint64_t> wrong) {
  const Thread self = this_thread();
  const int right = right_of(team), left = left_of(team);
  for (std::uint64_t i = 0; i < kLitmusRounds; ++i) {
    const std::uint64_t round = arrived.next(self);
    if (!wait_until(self, team, taken.signal(), Cmp::ge, round - 1, Order::acquire, right)) return;
    const Bits128 out{litmus_value(team.rank(), right, round, 0), litmus_value(team.rank(), right, round, 1)};
    put_signal(self, team, inbox, Span<const Bits128>(&out, 1), arrived.signal(), 1, SignalOp::add, right);
    if (!wait_until(self, team, arrived.signal(), Cmp::ge, round, Order::acquire, left)) return;
    wrong[0] += round != i + 1;
    wrong[0] +=
        inbox[0] != Bits128{litmus_value(left, team.rank(), round, 0), litmus_value(left, team.rank(), round, 1)};
    inbox[0] = {kPoison, kPoison};
    signal(self, team, taken.signal(), 1, SignalOp::add, left);
  }
  wrong[0] += signal_fetch(arrived.signal()) != kLitmusRounds;
}

TEST_P(LitmusMessage, SixteenBytesAndAnEpoch) {
  run([](World& world) {
    auto inbox = world.alloc_zeroed<Bits128>(1);
    auto arrived = world.alloc_epoch(), taken = world.alloc_epoch();
    auto wrong = world.alloc_zeroed<std::uint64_t>(1);
    world.launch<wide_ring>({}, world.team(), inbox.span(), arrived.get(), taken.get(), wrong.span());
    world.synchronize();
    EXPECT_EQ(wrong.get(0), 0u);
    world.barrier();
  });
}

}  // namespace
}  // namespace isotope
