// Every combination of collective, algorithm, type and operation, in place or not, of awkward counts and places: 50
// rounds one after another on a stream, by PEs that run ahead and fall behind, and between them collect and
// all_to_all_v. All is looked at when all 50 are over. ISOTOPE_TEST_PASSES=50 gives every combination 50 turns, in ten
// minutes.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "support/collective_mix.hpp"
#include "support/collective_rig.hpp"
#include "support/job_shape.hpp"

namespace isotope {
namespace {

using testing::Layout;
using testing::Mixer;

class CollectiveRoundsTyped : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveRoundsTyped);

constexpr std::uint64_t kRounds = 50;
constexpr std::size_t kSlotBytes = 1920, kMost = 700, kMargin = 64;  // elements; a slot holds 240 of the widest
constexpr char kPoison = static_cast<char>(0xa5);

/// A call of one of algorithms.def.
struct Round {
  CollectiveCall call;
  Layout layout;
};

/// Every combination that there is, of an algorithm, a type, an operation and a way to keep sums, in an order that is
/// the same on every member. On GPUs of the types that nvcc compiles them for.
std::vector<CollectiveCall> all_combinations(const World& world) {
  std::vector<CollectiveCall> all;
  const auto add_all_of = [&](Collective collective, Algo algo) {
    for (const DataType type : testing::types_on(world, collective)) {
      const bool narrow = type == DataType::f16 || type == DataType::bf16 || size_of(type) == 1;
      for (const ReduceOp op : testing::kOps) {
        if (why_not(collective, algo, type, op) != nullptr || (!combines(collective) && op != ReduceOp::add)) continue;
        all.push_back({collective, algo, type, op});
        if (combines(collective) && narrow) all.push_back({collective, algo, type, op, Accumulate::native});
      }
    }
  };
#define X(c, a, dst, src) add_all_of(Collective::c, Algo::a);
#include "isotope/collective/algorithms.def"
#undef X
  Mixer random(2024);
  for (std::size_t left = all.size(); left > 1; --left) std::swap(all[left - 1], all[random() % left]);
  return all;
}

/// The call of a round, the same on every member.
Round round_of(const World& world, const CollectiveCall& combination, std::uint64_t seed) {
  Mixer random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  Round round{combination, {}};
  CollectiveCall& call = round.call;
  const bool rooted = call.collective == Collective::reduce || call.collective == Collective::broadcast;
  call.root = rooted ? static_cast<int>(below(static_cast<std::size_t>(world.size()))) : 0;
  constexpr std::size_t kCounts[] = {0, 1, 61, 97};
  const std::size_t kind = below(8);
  call.count = kind < 4 ? kCounts[kind] : below(kMost);
  round.layout = {call.count, below(4), below(4), below(3) == 0};
  if (call.algo == Algo::multimem_one_shot || (call.collective == Collective::all_to_all && call.algo == Algo::direct))
    round.layout.in_place = false;
  return round;
}

/// How often every combination has its turn: ISOTOPE_TEST_PASSES, 1 unless it says more.
std::uint64_t passes() {
  const char* text = std::getenv("ISOTOPE_TEST_PASSES");
  return text != nullptr ? std::max(1, std::atoi(text)) : 1;
}

/// All rounds' buffers of one member, each with a part of its own, and what is in them before.
class Buffers {
 public:
  Buffers(World& world) : world_(world), memory_(world.alloc<char>(kRounds * 2 * each())) {}

  /// Of a round; in elements of the call's type.
  void place(std::uint64_t round, Round& it) {
    const std::size_t element = size_of(it.call.type);
    char* base = memory_.data() + round * 2 * each();
    testing::give_buffers(it.call, base + (kMargin + it.layout.dst_shift) * element,
                          base + each() + (kMargin + it.layout.src_shift) * element, it.layout.in_place, world_.rank());
  }
  char* begin() { return memory_.data(); }
  std::size_t offset_of(const void* p) {
    return reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(memory_.data());
  }
  std::size_t bytes() const { return kRounds * 2 * each(); }
  void write(const std::vector<char>& all) const { memory_.write(all); }
  std::vector<char> read() const { return memory_.read(); }

 private:
  std::size_t each() const {
    return (kMost * static_cast<std::size_t>(world_.size()) + 2 * kMargin) * sizeof(std::uint64_t);
  }
  World& world_;
  Symmetric<char> memory_;
};

template <class T>
void put_input(const World& world, const Round& it, std::uint64_t seed, char* to) {
  const std::size_t n = detail::elements_of(it.call.collective, it.call.count, world.size()).src;
  for (std::size_t i = 0; i < n; ++i) {
    const T value = testing::input_of<T>(it.call.op, seed, world.rank(), i);
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

template <class T>
void judge(const World& world, const Round& it, std::uint64_t seed, const char* found_at) {
  const CollectiveCall& call = it.call;
  const int me = world.rank(), members = world.size();
  const testing::Combined of = testing::combined_in(call, me, members);
  std::vector<T> in(static_cast<std::size_t>(of.members));
  for (std::size_t i = 0; i < testing::output_elements(call, me, members); ++i) {
    T found;
    std::memcpy(&found, found_at + i * sizeof(T), sizeof(T));
    const auto what = [&] {
      return testing::text_of(call, it.layout, world.team()) + ": element " + std::to_string(i);
    };
    if (!combines(call.collective)) {
      const testing::Origin origin = testing::origin_of(call, me, i);
      const T expected = testing::input_of<T>(call.op, seed, origin.member, origin.element);
      ASSERT_EQ(std::memcmp(&expected, &found, sizeof(T)), 0) << what();
      continue;
    }
    for (int k = 0; k < of.members; ++k)
      in[static_cast<std::size_t>(k)] = testing::input_of<T>(call.op, seed, k, of.first + i);
    const testing::Reference reference =
        of.members == 0 ? testing::identity_of<T>(call.op)
                        : testing::reference_of<T>(call.op, call.accumulate, Span<const T>(in.data(), in.size()));
    ASSERT_TRUE(testing::matches(reference, found)) << what() << " is " << testing::difference(reference, found);
  }
}

/// How many elements member `from` brings to a call of different lengths for member `to`.
std::uint64_t length_of(std::uint64_t seed, int from, int to) {
  Mixer random(seed * 31 + static_cast<std::uint64_t>(from * 8 + to));
  return random() % 3 == 0 ? 0 : random() % 30;
}

/// Buffers of the calls of different lengths, one after each round, and what comes of them.
class Variable {
 public:
  Variable(World& world)
      : world_(world),
        n_(static_cast<std::size_t>(world.size())),
        gathered_(world.alloc<std::uint32_t>(kRounds * most())),
        src_(world.alloc<std::uint32_t>(kRounds * most())),
        received_(world.alloc<std::uint32_t>(kRounds * most())),
        totals_(world.alloc<std::uint64_t>(kRounds)),
        counts_(world.alloc<std::uint64_t>(kRounds * n_)),
        src_offsets_(world.alloc<std::uint64_t>(kRounds * n_)),
        dst_offsets_(world.alloc<std::uint64_t>(kRounds * n_)) {}

  void fill(std::uint64_t seed) {
    std::vector<std::uint32_t> src(kRounds * most(), 0);
    std::vector<std::uint64_t> counts(kRounds * n_), src_offsets(kRounds * n_), dst_offsets(kRounds * n_);
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      for (std::size_t k = 0; k < n_; ++k) {
        const std::size_t at = round * n_ + k;
        counts[at] = length_of(seed + round, world_.rank(), static_cast<int>(k));
        src_offsets[at] = round * most() + k * 30;
        dst_offsets[at] = round * most() + (n_ - 1 - k) * 30;
        for (std::size_t i = 0; i < 30; ++i)
          src[src_offsets[at] + i] = value(seed + round, world_.rank(), static_cast<int>(k), i);
      }
    }
    src_.write(src);
    counts_.write(counts);
    src_offsets_.write(src_offsets);
    dst_offsets_.write(dst_offsets);
    gathered_.write(std::vector<std::uint32_t>(kRounds * most(), kUntouched));
    received_.write(std::vector<std::uint32_t>(kRounds * most(), kUntouched));
  }

  /// Even rounds gather what a member has for the first one; odd ones exchange.
  void enqueue(Collectives& coll, const Stream& stream, std::uint64_t seed, std::uint64_t round) {
    if (round % 2 == 0) {
      on_stream::collect(coll, stream, gathered_.data() + round * most(), src_.data() + round * most(),
                         length_of(seed + round, world_.rank(), 0), totals_.data() + round);
    } else {
      on_stream::all_to_all_v(coll, stream, received_.data(), dst_offsets_.data() + round * n_, src_.data(),
                              counts_.data() + round * n_, src_offsets_.data() + round * n_);
    }
  }

  void judge(std::uint64_t seed) {
    std::vector<std::uint32_t> gathered(kRounds * most(), kUntouched), received = gathered;
    const std::vector<std::uint64_t> totals = totals_.read();
    const int me = world_.rank();
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      std::size_t at = round * most();
      for (std::size_t k = 0; k < n_; ++k) {
        const int from = static_cast<int>(k);
        if (round % 2 == 0) {
          for (std::size_t i = 0; i < length_of(seed + round, from, 0); ++i)
            gathered[at++] = value(seed + round, from, 0, i);
        } else {
          for (std::size_t i = 0; i < length_of(seed + round, from, me); ++i)
            received[round * most() + (n_ - 1 - k) * 30 + i] = value(seed + round, from, me, i);
        }
      }
      if (round % 2 == 0) {
        ASSERT_EQ(totals[round], at - round * most()) << "round " << round;
      }
    }
    ASSERT_EQ(gathered_.read(), gathered) << "collect";
    ASSERT_EQ(received_.read(), received) << "all_to_all_v";
  }

 private:
  static constexpr std::uint32_t kUntouched = 0xa5a5a5a5;
  std::size_t most() const { return 30 * n_; }
  static std::uint32_t value(std::uint64_t seed, int from, int to, std::size_t i) {
    return static_cast<std::uint32_t>(seed * 100'003 + static_cast<std::uint64_t>(from * 8 + to) * 101 + i);
  }

  World& world_;
  std::size_t n_;
  Symmetric<std::uint32_t> gathered_, src_, received_;
  Symmetric<std::uint64_t> totals_, counts_, src_offsets_, dst_offsets_;
};

TEST_P(CollectiveRoundsTyped, OnAStream) {
  run([](World& world) {
    Buffers buffers(world);
    Variable variable(world);
    Collectives coll(world, {.channels = world.drives_gpu() ? 3 : 1, .slot_bytes = kSlotBytes});
    auto cell = world.alloc<std::uint64_t>(1);
    Stream stream = world.create_stream();
    const std::vector<CollectiveCall> combinations = all_combinations(world);
    const std::uint64_t batches = (passes() * combinations.size() + kRounds - 1) / kRounds;
    for (std::uint64_t batch = 0; batch < batches; ++batch) {
      const std::uint64_t seed = 1000 * (batch + 1);
      std::vector<Round> rounds;
      std::vector<char> memory(buffers.bytes(), kPoison);
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        // A pass further on, other neighbours: the batches do not divide the list.
        const CollectiveCall& combination = combinations[(batch * kRounds + round) % combinations.size()];
        rounds.push_back(round_of(world, combination, seed + round));
        Round& it = rounds.back();
        buffers.place(round, it);
        testing::visit_type(it.call.type, [&]<class T>() {
          put_input<T>(world, it, seed + round, memory.data() + buffers.offset_of(it.call.src));
        });
      }
      buffers.write(memory);
      variable.fill(seed);
      world.barrier();
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const std::uint64_t late = testing::lateness(seed, round, world.rank());
        stream.call([=] { std::this_thread::sleep_for(std::chrono::nanoseconds(late)); });
        testing::enqueue_any(coll, stream, rounds[round].call);
        variable.enqueue(coll, stream, seed, round);
      }
      stream.synchronize();
      const std::vector<char> after = buffers.read();
      std::vector<char> reduced;
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const Round& it = rounds[round];
        const std::size_t at = buffers.offset_of(it.call.dst);
        testing::visit_type(it.call.type, [&]<class T>() { judge<T>(world, it, seed + round, after.data() + at); });
        ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", round " << round;
        const std::size_t bytes = testing::output_elements(it.call, world.rank(), world.size()) * size_of(it.call.type);
        const auto out = after.begin() + static_cast<std::ptrdiff_t>(at),
                   end = out + static_cast<std::ptrdiff_t>(bytes);
        std::copy(out, end, memory.begin() + static_cast<std::ptrdiff_t>(at));
        if (it.call.collective == Collective::all_reduce) reduced.insert(reduced.end(), out, end);
      }
      ASSERT_TRUE(after == memory) << "seed " << seed << ": bytes beside the results have changed";
      variable.judge(seed);
      testing::expect_same_everywhere(world, world.team(), cell, reduced, "all_reduce");
      world.barrier();
    }
  });
}

}  // namespace
}  // namespace isotope
