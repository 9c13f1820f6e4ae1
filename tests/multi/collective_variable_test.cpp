// collect and all_to_all_v: members that bring different amounts, and none.
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
    EXPECT_EQ(coll.collect(dst.data() + shift, from + shift, n), total) << "round " << round;
    EXPECT_EQ(dst.read(), expected) << "round " << round;
  }
}

TEST_P(CollectiveVariable, Collect) {
  run([](World& world) {
    Collectives coll(world, {.channels = 1, .slot_bytes = 1920});
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
    coll.all_to_all_v(dst.data(), dst_offsets.data(), src.data(), counts.data(), src_offsets.data(),
                      round % 3 == 2 ? nullptr : received.data());
    EXPECT_EQ(dst.read(), expected) << "round " << round;
    EXPECT_EQ(received.read(), round % 3 == 2 ? std::vector<std::uint64_t>(count, 77) : came) << "round " << round;
  }
  world.barrier();
}

TEST_P(CollectiveVariable, AllToAllV) {
  run([](World& world) {
    Collectives coll(world, {.channels = 1, .slot_bytes = 1920});
    check_all_to_all_v<std::uint8_t>(world, coll);
    check_all_to_all_v<std::uint32_t>(world, coll);
    check_all_to_all_v<double>(world, coll);
  });
}

// In one kernel, by blocks of many threads on channels of their own, back to back.
ISOTOPE_KERNEL void collect_often(Team team, Workspace workspace, std::uint32_t* dst, std::uint32_t* src,
                                  std::size_t stride, std::uint64_t* wrong) {
  const Block block = this_block();
  dst += block.rank() * stride;
  src += block.rank() * stride;
  for (std::uint64_t round = 0; round < 30; ++round) {
    const auto length = [&](int k) { return (round * 7 + static_cast<std::uint64_t>(k) * 5) % 11; };
    const std::uint64_t n = length(team.rank());
    for (std::size_t i = block.thread_rank(); i < n; i += block.size())
      src[i] = static_cast<std::uint32_t>(round * 1000 + static_cast<std::uint64_t>(team.rank()) * 100 + i);
    block.sync();
    std::size_t total = 0, at = 0;
    bool well = collect(block, team, workspace.channel(static_cast<int>(block.rank())), dst, src, n, &total);
    block.sync();
    for (int k = 0; k < team.size(); ++k) {
      for (std::uint64_t i = 0; i < length(k); ++i)
        well = well && dst[at++] == round * 1000 + static_cast<std::uint64_t>(k) * 100 + i;
    }
    if (!well || total != at) fetch_add(wrong, std::uint64_t{1});
    block.sync();
  }
}

TEST_P(CollectiveVariable, CollectByBlocksBackToBack) {
  run([](World& world) {
    Collectives coll(world, {.channels = 2, .slot_bytes = 1920});
    const std::size_t stride = 11 * static_cast<std::size_t>(world.size());
    auto dst = world.alloc<std::uint32_t>(2 * stride), src = world.alloc<std::uint32_t>(2 * stride);
    auto wrong = world.alloc_zeroed<std::uint64_t>(1);
    world.launch<collect_often>({.grid = 2, .block = 40}, world.team(), coll.workspace(), dst.data(), src.data(),
                                stride, wrong.data());
    world.synchronize();
    EXPECT_EQ(wrong.get(0), 0u);
  });
}

}  // namespace
}  // namespace isotope
