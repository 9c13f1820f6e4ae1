// Every call that a group makes together, by threads, warps and blocks, in blocks of many sizes: the result is the
// same. Threads use memory right before and after each call, as far as its contract lets them, so that a missing sync
// shows.
#include <cstdint>
#include <vector>

#include "support/job_shape.hpp"
#include "support/symmetric.hpp"

namespace isotope {
namespace {

using testing::fill;

class GroupShapes : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(GroupShapes);

constexpr std::uint32_t kPoison = 0xdeadbeef;
// Elements that the groups of a launch share out: few, and one more than fills a cache line for each thread.
constexpr std::size_t kCounts[] = {1, 48 * 16 + 1, 128 * 16 + 1, 1024 * 16 + 1};
constexpr std::size_t kMaxElements = 1024 * 16 + 1;
constexpr std::size_t kMaxUnits = 1024;
constexpr std::size_t kMaxPes = 8;
constexpr std::uint32_t kBlockSizes[] = {1, 32, 48, 128, 1024};

ISOTOPE_HD std::uint32_t value_of(int from, std::uint32_t round, std::size_t i) {
  return (static_cast<std::uint32_t>(i) * 64 + static_cast<std::uint32_t>(from) * 4 + round % 4) * 2654435761u;
}

/// One group of a block: which one, and of how many.
template <Group G>
struct Unit {
  G group;
  std::uint32_t index, count;
};
ISOTOPE_HD Unit<Thread> unit_of(Thread thread) { return {thread, this_block().thread_rank(), this_block().size()}; }
ISOTOPE_HD Unit<Warp> unit_of(Warp warp) {
  return {warp, warp.rank(), (this_block().size() + kWarpSize - 1) / kWarpSize};
}
ISOTOPE_HD Unit<Block> unit_of(Block block) { return {block, 0, 1}; }

struct Boards {
  Span<std::uint32_t> inbox, outbox;  // three times as large as needed, for strides
  Span<Signal> flags;                 // [unit][PE]
  Span<std::uint32_t> letters;        // [unit][PE], written by others
  Span<int> done;                     // [unit][PE]
  Span<std::size_t> indices;          // [unit][PE]
  Span<std::uint64_t> rounds;         // [PE]: the round, for the forms that take a value for each word
  Span<std::uint64_t> wrong;
};

enum class Case { put, put_nbi, put_signal, put_signal_nbi, iput, get, get_nbi, iget, signal, all, any, some, vectors };
constexpr std::size_t kDstStride = 2, kSrcStride = 3;

/// What a unit has to do with: its part of the elements, its flags, and the checks.
template <Group G>
struct Work {
  const Team& team;
  const Boards& boards;
  Unit<G> unit;
  std::size_t elements;
  std::uint32_t round;

  ISOTOPE_HD std::size_t first() const { return elements * unit.index / unit.count; }
  ISOTOPE_HD std::size_t last() const { return elements * (unit.index + 1) / unit.count; }
  ISOTOPE_HD int right() const { return (team.rank() + 1) % team.size(); }
  ISOTOPE_HD int left() const { return (team.rank() + team.size() - 1) % team.size(); }
  ISOTOPE_HD std::size_t place(int pe) const { return unit.index * kMaxPes + static_cast<std::size_t>(pe); }

  /// Elements in an order that gives no thread what a copy or a strided copy would give it.
  template <class F>
  ISOTOPE_HD void for_mine(const F& f) const {
    const std::size_t size = unit.group.size(), offset = size - 1 - unit.group.thread_rank();
    for (std::size_t i = first() + offset; i < last(); i += size) f(i);
  }
  ISOTOPE_HD void fill_outbox(std::size_t stride) const {
    for_mine([&](std::size_t i) { boards.outbox[i * stride] = value_of(team.rank(), round, i); });
  }
  ISOTOPE_HD void spoil_outbox(std::size_t stride) const {
    for_mine([&](std::size_t i) { boards.outbox[i * stride] = kPoison; });
  }
  ISOTOPE_HD void check(bool good) const {
    if (!good) fetch_add(&boards.wrong[0], 1u);
  }
  ISOTOPE_HD void check_inbox(int from, std::size_t stride = 1) const {
    for_mine([&](std::size_t i) { check(boards.inbox[i * stride] == value_of(from, round, i)); });
  }
  ISOTOPE_HD void check_letter(std::size_t from) const {
    check(boards.letters[unit.index * kMaxPes + from] == value_of(static_cast<int>(from), round, unit.index));
  }
  ISOTOPE_HD Span<std::uint32_t> part(Span<std::uint32_t> of) const { return of.subspan(first(), last() - first()); }
};

template <Case C, Group G>
ISOTOPE_HD void send(const Work<G>& work) {
  const auto group = work.unit.group;
  const Team& team = work.team;
  const Span<std::uint32_t> in = work.part(work.boards.inbox), out = work.part(work.boards.outbox);
  Signal* flag = &work.boards.flags[work.place(0)];
  constexpr std::size_t kStride = C == Case::iput ? kSrcStride : 1;
  work.fill_outbox(kStride);
  if constexpr (C == Case::put) put(group, team, in, out, work.right());
  if constexpr (C == Case::put_nbi) {
    group.sync();
    put_nbi(group, team, in, out, work.right());
    quiet(group, team);
  }
  if constexpr (C == Case::put_signal) put_signal(group, team, in, out, flag, 1, SignalOp::add, work.right());
  if constexpr (C == Case::put_signal_nbi) {
    put_signal_nbi(group, team, in, out, flag, work.round, SignalOp::set, work.right());
    quiet(group, team);
  }
  if constexpr (C == Case::iput)
    iput(group, team, &work.boards.inbox[work.first() * kDstStride], &work.boards.outbox[work.first() * kSrcStride],
         kDstStride, kSrcStride, out.size(), work.right());
  if constexpr (C == Case::signal) {  // plain stores of all threads, then the signal
    work.for_mine(
        [&](std::size_t i) { *team.at(&work.boards.inbox[i], work.right()) = value_of(team.rank(), work.round, i); });
    signal(group, team, flag, 1, SignalOp::add, work.right());
  }
  work.spoil_outbox(kStride);
  if constexpr (C == Case::put_signal || C == Case::put_signal_nbi || C == Case::signal) {
    work.check(wait_until(group, team, flag, Cmp::ge, work.round, Order::acquire, work.left()));
    work.check_inbox(work.left());
  }
}

template <Case C, Group G>
ISOTOPE_HD void receive(const Work<G>& work) {
  const auto group = work.unit.group;
  const Span<std::uint32_t> in = work.part(work.boards.inbox), out = work.part(work.boards.outbox);
  constexpr std::size_t kStride = C == Case::iget ? kDstStride : 1;
  work.for_mine([&](std::size_t i) { work.boards.inbox[i * kStride] = ~kPoison; });
  if constexpr (C == Case::get) get(group, work.team, in, out, work.left());
  if constexpr (C == Case::get_nbi) {
    group.sync();
    get_nbi(group, work.team, in, out, work.left());
    quiet(group, work.team);
  }
  if constexpr (C == Case::iget)
    iget(group, work.team, &work.boards.inbox[work.first() * kDstStride],
         &work.boards.outbox[work.first() * kSrcStride], kDstStride, kSrcStride, out.size(), work.left());
  work.check_inbox(work.left(), kStride);
}

/// Takes everyone's letter, in the order in which the waits give them.
template <Case C, Group G>
ISOTOPE_HD void take_letters(const Work<G>& work) {
  const auto group = work.unit.group;
  const Team& team = work.team;
  const auto members = static_cast<std::size_t>(team.size());
  Signal* flags = &work.boards.flags[work.place(0)];
  int* done = &work.boards.done[work.place(0)];
  std::size_t* indices = &work.boards.indices[work.place(0)];
  const std::uint64_t* rounds = work.boards.rounds.data();
  if constexpr (C == Case::vectors)
    work.check(wait_until_all_vector(group, team, flags, members, Cmp::ge, rounds, done));
  for (std::size_t seen = 0; seen < members;) {
    std::size_t found = 1;
    if constexpr (C == Case::any) {
      const std::size_t from = wait_until_any(group, team, flags, members, Cmp::ge, work.round, done);
      if (group.is_leader()) indices[0] = from;
      group.sync();
      work.check(indices[0] == from);  // every thread is told the same
    } else if constexpr (C == Case::some) {
      found = wait_until_some(group, team, flags, members, indices, Cmp::ge, work.round, done);
    } else {
      found = wait_until_some_vector(group, team, flags, members, indices, Cmp::ge, rounds, done);
      if (group.thread_rank() == 0) work.check(found == members);
    }
    const bool well = found >= 1 && seen + found <= members && indices[0] < members;
    work.check(well);
    if (!well) return;
    for (std::size_t i = 0; i < found; ++i) {
      work.check_letter(indices[i]);
      work.check(done[indices[i]] == 0);
    }
    group.sync();
    if (group.is_leader())
      for (std::size_t i = 0; i < found; ++i) done[indices[i]] = 1;
    group.sync();
    seen += found;
  }
}

template <Case C, Group G>
ISOTOPE_HD void meet_by_flags(const Work<G>& work) {
  const auto group = work.unit.group;
  const Team& team = work.team;
  const int me = team.rank();
  const auto members = static_cast<std::size_t>(team.size());
  if (group.is_leader())
    for (std::size_t i = 0; i < members; ++i) work.boards.done[work.place(0) + i] = 0;
  for (int step = 0; step < team.size(); ++step) {  // itself too
    const int to = (me + step) % team.size();
    // The last thread writes the letter; the signal waits for it.
    if (group.thread_rank() == group.size() - 1)
      *team.at(&work.boards.letters[work.place(me)], to) = value_of(me, work.round, work.unit.index);
    signal(group, team, &work.boards.flags[work.place(me)], 1, SignalOp::add, to);
  }
  if constexpr (C == Case::all) {
    work.check(wait_until_all(group, team, &work.boards.flags[work.place(0)], members, Cmp::ge, work.round));
    for (std::size_t from = 0; from < members; ++from) work.check_letter(from);
  } else {
    take_letters<C>(work);
  }
}

template <Case C, Group G>
ISOTOPE_KERNEL void make_calls(Team team, Boards boards, std::size_t elements, std::uint32_t round) {
  const Work<G> work{team, boards, unit_of(G{}), elements, round};
  if constexpr (C == Case::get || C == Case::get_nbi || C == Case::iget) {
    receive<C>(work);
  } else if constexpr (C == Case::all || C == Case::any || C == Case::some || C == Case::vectors) {
    meet_by_flags<C>(work);
  } else {
    send<C>(work);
  }
}

constexpr bool fills_inbox(Case which) { return which < Case::all; }

/// The boards' memory.
struct Memory {
  Symmetric<std::uint32_t> inbox, outbox;
  Symmetric<Signal> flags;
  Symmetric<std::uint32_t> letters;
  Symmetric<int> done;
  Symmetric<std::size_t> indices;
  Symmetric<std::uint64_t> rounds, wrong;

  explicit Memory(World& world)
      : inbox(world.alloc<std::uint32_t>(kMaxElements * 3)),
        outbox(world.alloc<std::uint32_t>(kMaxElements * 3)),
        flags(world.alloc<Signal>(kMaxUnits * kMaxPes)),
        letters(world.alloc<std::uint32_t>(kMaxUnits * kMaxPes)),
        done(world.alloc<int>(kMaxUnits * kMaxPes)),
        indices(world.alloc<std::size_t>(kMaxUnits * kMaxPes)),
        rounds(world.alloc<std::uint64_t>(kMaxPes)),
        wrong(world.alloc_zeroed<std::uint64_t>(1)) {}
  Boards boards() const {
    return {inbox.span(), outbox.span(),  flags.span(),  letters.span(),
            done.span(),  indices.span(), rounds.span(), wrong.span()};
  }
};

template <Case C, Group G>
void run_launch(World& world, const Memory& memory, std::uint32_t threads, std::size_t elements, std::uint32_t round) {
  const int left = (world.rank() + world.size() - 1) % world.size();
  constexpr std::size_t kStride = C == Case::iput || C == Case::iget ? kDstStride : 1;
  fill(memory.inbox, kPoison);
  fill(memory.letters, kPoison);
  fill(memory.rounds, std::uint64_t{round});
  if (C == Case::get || C == Case::get_nbi || C == Case::iget) {
    constexpr std::size_t kOutStride = C == Case::iget ? kSrcStride : 1;
    std::vector<std::uint32_t> out(elements * kOutStride, kPoison);
    for (std::size_t i = 0; i < elements; ++i) out[i * kOutStride] = value_of(world.rank(), round, i);
    memory.outbox.write(out);
  }
  world.barrier();
  world.launch<make_calls<C, G>>({.block = threads}, world.team(), memory.boards(), elements, round);
  world.synchronize();
  world.barrier();
  std::size_t different = 0;
  const std::vector<std::uint32_t> inbox = memory.inbox.read();
  for (std::size_t i = 0; i < inbox.size() && fills_inbox(C); ++i) {
    const bool filled = i < elements * kStride && i % kStride == 0;
    different += inbox[i] != (filled ? value_of(left, round, i / kStride) : kPoison);
  }
  EXPECT_EQ(different, 0u);
  EXPECT_EQ(memory.wrong.get(0), 0u);
  memory.wrong.set(0, 0);
}

template <Case C, Group G>
void run_scope(World& world, const Memory& memory, const char* scope) {
  for (const std::uint32_t threads : kBlockSizes) {
    for (const std::size_t elements : kCounts) {
      if (!fills_inbox(C) && elements != 1) continue;
      fill(memory.flags, Signal{0});
      for (std::uint32_t round = 1; round <= 2; ++round) {
        SCOPED_TRACE(::testing::Message()
                     << scope << ", blocks of " << threads << ", " << elements << " elements, round " << round);
        run_launch<C, G>(world, memory, threads, elements, round);
      }
    }
  }
}

template <Case C>
void run_case(World& world) {
  const Memory memory(world);
  run_scope<C, Thread>(world, memory, "thread");
  run_scope<C, Warp>(world, memory, "warp");
  run_scope<C, Block>(world, memory, "block");
  world.barrier();
}

#define ISOTOPE_GROUP_CASE(Name, which)                      \
  TEST_P(GroupShapes, Name) {                                \
    run([](World& world) { run_case<Case::which>(world); }); \
  }
ISOTOPE_GROUP_CASE(Put, put)
ISOTOPE_GROUP_CASE(PutNbi, put_nbi)
ISOTOPE_GROUP_CASE(PutSignal, put_signal)
ISOTOPE_GROUP_CASE(PutSignalNbi, put_signal_nbi)
ISOTOPE_GROUP_CASE(Iput, iput)
ISOTOPE_GROUP_CASE(Get, get)
ISOTOPE_GROUP_CASE(GetNbi, get_nbi)
ISOTOPE_GROUP_CASE(Iget, iget)
ISOTOPE_GROUP_CASE(Signal, signal)
ISOTOPE_GROUP_CASE(WaitAll, all)
ISOTOPE_GROUP_CASE(WaitAny, any)
ISOTOPE_GROUP_CASE(WaitSome, some)
ISOTOPE_GROUP_CASE(WaitVectors, vectors)
#undef ISOTOPE_GROUP_CASE

}  // namespace
}  // namespace isotope
