// collect and all_to_all_v: members that bring different amounts, and none. From the host and on a stream;
// collective_variable_kernels_test.cpp has calls by kernels, collective_variable_refusals_test.cpp what is refused.
#include <cstdint>
#include <vector>

#include "support/job_shape.hpp"
#include "support/mixer.hpp"

namespace isotope {
namespace {

class CollectiveVariable : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveVariable);

constexpr std::size_t kMost = 300;

/// How much member `from` brings for member `to` in a round: often nothing.
std::size_t amount(std::uint64_t round, int from, int to = 0) {
  testing::Mixer random(round * 4096 + static_cast<std::uint64_t>(from) * 64 + static_cast<std::uint64_t>(to));
  return round == 0 || random() % 3 == 0 ? 0 : random() % kMost;
}
template <class T>
T element(std::uint64_t round, int from, int to, std::size_t i) {
  return static_cast<T>(round * 1000003 + static_cast<std::uint64_t>(from) * 7919 +
                        static_cast<std::uint64_t>(to) * 101 + i + 1);
}

template <class T>
void check_collect(World& world, const Team& team, Collectives& coll, std::size_t shift) {
  const auto members = static_cast<std::size_t>(world.size());
  auto dst = world.alloc<T>(kMost * members + 16), src = world.alloc<T>(kMost + shift);
  auto came = world.alloc<std::uint64_t>(1);
  if (team.size() == 0) return;
  for (std::uint64_t round = 0; round < 12; ++round) {
    const std::size_t n = amount(round, team.rank());
    std::vector<T> mine(kMost + shift);
    for (std::size_t i = 0; i < n; ++i) mine[shift + i] = element<T>(round, team.rank(), 0, i);
    src.write(mine);
    const T* from = world.drives_gpu() ? src.data() : mine.data();  // any memory of the PE will do
    std::vector<T> expected(dst.size(), static_cast<T>(0x5a));
    std::size_t total = 0;
    for (int k = 0; k < team.size(); ++k) {
      for (std::size_t i = 0; i < amount(round, k); ++i) expected[shift + total++] = element<T>(round, k, 0, i);
    }
    dst.write(std::vector<T>(dst.size(), static_cast<T>(0x5a)));
    if (round % 2 == 0) {
      EXPECT_EQ(coll.collect(dst.data() + shift, from + shift, n), total) << "round " << round;
    } else {
      const Stream stream = world.create_stream();
      came.set(0, 77);
      on_stream::collect(coll, stream, dst.data() + shift, from + shift, n, round % 3 == 0 ? nullptr : came.data());
      stream.synchronize();
      EXPECT_EQ(came.get(0), round % 3 == 0 ? 77 : total) << "round " << round;
    }
    EXPECT_EQ(dst.read(), expected) << "round " << round;
  }
}

TEST_P(CollectiveVariable, Collect) {
  run([](World& world) {
    Collectives coll(world, {.channels = 3, .slot_bytes = 1920});
    check_collect<std::uint8_t>(world, world.team(), coll, 3);
    check_collect<float>(world, world.team(), coll, 1);
    check_collect<std::uint64_t>(world, world.team(), coll, 0);
    const OwnedTeam reversed = world.split_strided(world.team(), world.size() - 1, -1, (world.size() + 1) / 2);
    const Team team = reversed ? reversed.team() : Team();
    Collectives others(world, team, {.channels = 1, .slot_bytes = 1920});
    check_collect<std::uint16_t>(world, team, others, 1);
    world.barrier();
  });
}

template <class T>
void check_all_to_all_v(World& world, Collectives& coll) {
  const int members = world.size(), me = world.rank();
  const auto count = static_cast<std::size_t>(members);
  auto src = world.alloc<T>(kMost * count + 8), dst = world.alloc<T>(kMost * count + 8);
  auto counts = world.alloc<std::uint64_t>(count), src_offsets = world.alloc<std::uint64_t>(count);
  auto dst_offsets = world.alloc<std::uint64_t>(count), received = world.alloc<std::uint64_t>(count);
  for (std::uint64_t round = 0; round < 12; ++round) {
    // Packed from the back, so that offsets are not in the order of the members.
    std::vector<T> mine(src.size());
    std::size_t at = 1;
    for (int to = members - 1; to >= 0; --to) {
      const auto k = static_cast<std::size_t>(to);
      counts.set(k, amount(round, me, to));
      src_offsets.set(k, at);
      for (std::size_t i = 0; i < amount(round, me, to); ++i) mine[at++] = element<T>(round, me, to, i);
    }
    src.write(mine);
    std::vector<T> expected(dst.size(), static_cast<T>(0x5a));
    std::vector<std::uint64_t> came(count);
    at = 3;
    for (int from = 0; from < members; ++from) {
      const auto k = static_cast<std::size_t>(from);
      came[k] = amount(round, from, me);
      dst_offsets.set(k, at);
      for (std::size_t i = 0; i < came[k]; ++i) expected[at++] = element<T>(round, from, me, i);
    }
    dst.write(std::vector<T>(dst.size(), static_cast<T>(0x5a)));
    received.write(std::vector<std::uint64_t>(count, 77));
    std::uint64_t* tells = round % 3 == 2 ? nullptr : received.data();
    if (round % 2 == 0) {
      coll.all_to_all_v(dst.data(), dst_offsets.data(), src.data(), counts.data(), src_offsets.data(), tells);
    } else {
      const Stream stream = world.create_stream();
      on_stream::all_to_all_v(coll, stream, dst.data(), dst_offsets.data(), src.data(), counts.data(),
                              src_offsets.data(), tells);
      stream.synchronize();
    }
    EXPECT_EQ(dst.read(), expected) << "round " << round;
    EXPECT_EQ(received.read(), round % 3 == 2 ? std::vector<std::uint64_t>(count, 77) : came) << "round " << round;
  }
  world.barrier();
}

TEST_P(CollectiveVariable, AllToAllV) {
  run([](World& world) {
    Collectives coll(world, {.channels = 3, .slot_bytes = 1920});
    check_all_to_all_v<std::uint8_t>(world, coll);
    check_all_to_all_v<std::uint32_t>(world, coll);
    check_all_to_all_v<double>(world, coll);
  });
}

// Enqueued one after another behind kernels that write what they move, and how much.
constexpr std::size_t kShort = 40;

ISOTOPE_KERNEL void prepare(Team team, std::uint64_t round, std::uint32_t* src, std::uint64_t* counts,
                            std::uint64_t* src_offsets, std::uint64_t* dst_offsets) {
  const Block block = this_block();
  for (int k = static_cast<int>(block.thread_rank()); k < team.size(); k += static_cast<int>(block.size())) {
    counts[k] = (round * 7 + static_cast<std::uint64_t>(team.rank()) * 3 + static_cast<std::uint64_t>(k) * 5) % kShort;
    src_offsets[k] = static_cast<std::uint64_t>(k) * kShort;
    dst_offsets[k] = static_cast<std::uint64_t>(team.size() - 1 - k) * kShort;
    for (std::uint64_t i = 0; i < counts[k]; ++i)
      src[src_offsets[k] + i] = static_cast<std::uint32_t>(round * 1000000 + team.rank() * 10000 + k * 100 + i);
  }
}

TEST_P(CollectiveVariable, BehindKernelsOfAStream) {
  run([](World& world) {
    constexpr std::uint64_t kRounds = 25;
    const int me = world.rank();
    const auto members = static_cast<std::size_t>(world.size());
    Collectives coll(world, {.channels = 2, .slot_bytes = 1920});
    auto src = world.alloc<std::uint32_t>(kShort * members);
    auto dst = world.alloc<std::uint32_t>(kRounds * kShort * members);
    auto words = world.alloc<std::uint64_t>(3 * members), came = world.alloc<std::uint64_t>(kRounds);
    auto all = world.alloc<std::uint32_t>(kRounds * kShort * members);
    dst.write(std::vector<std::uint32_t>(dst.size(), 5));
    world.barrier();
    const Stream stream = world.create_stream();
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::size_t at = round * kShort * members;
      world.launch<prepare>({.block = 32, .stream = stream}, world.team(), round, src.data(), words.data(),
                            words.data() + members, words.data() + 2 * members);
      on_stream::all_to_all_v(coll, stream, dst.data() + at, words.data() + 2 * members, src.data(), words.data(),
                              words.data() + members);
      on_stream::collect(coll, stream, all.data() + at, src.data(), 1 + (round + static_cast<std::uint64_t>(me)) % 3,
                         came.data() + round);
    }
    stream.synchronize();
    const auto found = dst.read();
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      std::uint64_t total = 0;
      for (std::size_t k = 0; k < members; ++k) {
        const std::uint64_t n = (round * 7 + k * 3 + static_cast<std::uint64_t>(me) * 5) % kShort;
        const std::size_t at = (round * members + members - 1 - k) * kShort;
        for (std::uint64_t i = 0; i < kShort; ++i)
          ASSERT_EQ(found[at + i], i < n ? round * 1000000 + k * 10000 + static_cast<std::uint64_t>(me) * 100 + i : 5)
              << "round " << round << ", from " << k << ", element " << i;
        total += 1 + (round + k) % 3;
      }
      EXPECT_EQ(came.get(round), total) << "round " << round;
    }
    world.barrier();
  });
}

}  // namespace
}  // namespace isotope
