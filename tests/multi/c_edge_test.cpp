// The C functions that move, signal and wait, by a thread, a warp and a block, from kernels and from host code.
#include <cstring>
#include <string>
#include <vector>

#include "isotope/isotope.h"
#include "support/job_shape.hpp"

namespace isotope {
namespace {

class CEdge : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(CEdge);

constexpr unsigned char kPoison = 0xd3;
constexpr std::size_t kRegion = 128, kBytes = 37;
constexpr std::size_t kElements = 5, kFar = 3, kNear = 2;  // of strided calls: elements, and the two strides

/// Where each call leaves its bytes: regions of `out`, with poison around what it writes.
enum Region {
  kPut,
  kPutNbi,
  kPutSignal,
  kPutSignalNbi,
  kGet,
  kGetNbi,
  kIput8,
  kIput16,
  kIput32,
  kIput64,
  kIget8,
  kIget16,
  kIget32,
  kIget64,
  kRegions
};

struct Arrays {
  unsigned char* out;
  const unsigned char* source;  // symmetric too, kRegion bytes
  std::uint64_t* signals;       // 8 of them, counting up
  std::uint64_t* rounds;        // of isotope_epoch_next
};

unsigned char source_byte(int pe, int round, std::size_t i) {
  return static_cast<unsigned char>(static_cast<std::size_t>(pe) * 37 + static_cast<std::size_t>(round) * 11 + i);
}

#define NEED(...) \
  if (!(__VA_ARGS__)) return __LINE__

// Every call of one kind of group, once. Returns 0, or the line of the first that went wrong. `round` counts from 1.
#define STRIDED(g, bits)                                                                                   \
  {                                                                                                        \
    using T = std::uint##bits##_t;                                                                         \
    NEED(isotope_iput##bits##g(t, reinterpret_cast<T*>(a.out + kIput##bits * kRegion),                     \
                               reinterpret_cast<const T*>(a.source), kFar, kNear, kElements, right) == 0); \
    NEED(isotope_iget##bits##g(t, reinterpret_cast<T*>(a.out + kIget##bits * kRegion),                     \
                               reinterpret_cast<const T*>(a.source), kFar, kNear, kElements, right) == 0); \
  }
#define CALLS(name, g)                                                                                            \
  int name(const isotope_team* t, const Arrays& a, std::uint64_t round) {                                         \
    const int size = isotope_team_size(t), me = isotope_team_rank(t), right = (me + 1) % size;                    \
    const auto region = [&](Region r) { return a.out + r * kRegion; };                                            \
    NEED(isotope_epoch_next##g(a.rounds) == round);                                                               \
    NEED(isotope_barrier##g(t, 1) == 0);                                                                          \
    NEED(isotope_put##g(t, region(kPut), a.source, kBytes, right) == 0);                                          \
    NEED(isotope_put_nbi##g(t, region(kPutNbi), a.source, kBytes, right) == 0);                                   \
    NEED(isotope_fence##g(t) == 0);                                                                               \
    NEED(isotope_put_signal##g(t, region(kPutSignal), a.source, kBytes, &a.signals[0], 1, ISOTOPE_SIGNAL_ADD,     \
                               right) == 0);                                                                      \
    NEED(isotope_put_signal_nbi##g(t, region(kPutSignalNbi), a.source, kBytes, &a.signals[1], round,              \
                                   ISOTOPE_SIGNAL_SET, right) == 0);                                              \
    NEED(isotope_get##g(t, region(kGet), a.source, kBytes, right) == 0);                                          \
    NEED(isotope_get_nbi##g(t, region(kGetNbi), a.source, kBytes, right) == 0);                                   \
    STRIDED(g, 8) STRIDED(g, 16) STRIDED(g, 32) STRIDED(g, 64) NEED(isotope_quiet##g(t) == 0);                    \
    for (std::size_t i = 2; i < 5; ++i)                                                                           \
      NEED(isotope_signal##g(t, &a.signals[i], round, ISOTOPE_SIGNAL_SET, right) == 0);                           \
    /* One word, then several. */                                                                                 \
    const int masks[3] = {1, 0, 0};                                                                               \
    const std::uint64_t values[3] = {round, round, round};                                                        \
    std::size_t found[3] = {9, 9, 9};                                                                             \
    NEED(isotope_wait_until##g(t, &a.signals[0], ISOTOPE_CMP_GE, round) == 0);                                    \
    NEED(isotope_wait_until##g(t, &a.signals[1], ISOTOPE_CMP_EQ, round) == 0);                                    \
    NEED(isotope_wait_until_all##g(t, &a.signals[2], 3, nullptr, ISOTOPE_CMP_GE, round) == 0);                    \
    NEED(isotope_wait_until_all_vector##g(t, &a.signals[2], 3, nullptr, ISOTOPE_CMP_EQ, values) == 0);            \
    NEED(isotope_wait_until_any##g(t, &a.signals[2], 3, masks, ISOTOPE_CMP_GT, round - 1) - 1 < 2);               \
    NEED(isotope_wait_until_any_vector##g(t, &a.signals[2], 3, masks, ISOTOPE_CMP_GE, values) - 1 < 2);           \
    NEED(isotope_wait_until_some##g(t, &a.signals[2], 3, found, masks, ISOTOPE_CMP_NE, round - 1) == 2);          \
    NEED(isotope_wait_until_some_vector##g(t, &a.signals[2], 3, found, nullptr, ISOTOPE_CMP_LE, values) == 3);    \
    NEED(isotope_test(&a.signals[2], ISOTOPE_CMP_LT, round + 1) == 1);                                            \
    NEED(isotope_test(&a.signals[2], ISOTOPE_CMP_GT, round) == 0);                                                \
    NEED(isotope_test_all(&a.signals[2], 3, nullptr, ISOTOPE_CMP_EQ, round) == 1);                                \
    NEED(isotope_test_all_vector(&a.signals[2], 3, masks, ISOTOPE_CMP_GT, values) == 0);                          \
    NEED(isotope_test_any(&a.signals[2], 3, masks, ISOTOPE_CMP_EQ, round) == 1);                                  \
    NEED(isotope_test_any_vector(&a.signals[2], 3, masks, ISOTOPE_CMP_LT, values) == kNoIndex);                   \
    NEED(isotope_test_some(&a.signals[2], 3, found, masks, ISOTOPE_CMP_EQ, round) == 2 && found[0] == 1);         \
    NEED(isotope_test_some_vector(&a.signals[2], 3, found, masks, ISOTOPE_CMP_EQ, values) == 2 && found[1] == 2); \
    NEED(isotope_signal_fetch(&a.signals[3]) == round);                                                           \
    NEED(isotope_sync##g(t, 2, ISOTOPE_ORDER_RELAXED) == 0);                                                      \
    const std::uint64_t arrived = isotope_arrive##g(t, 3, ISOTOPE_ORDER_ACQ_REL);                                 \
    NEED(arrived == round);                                                                                       \
    NEED(isotope_wait##g(t, 3, arrived, ISOTOPE_ORDER_ACQ_REL) == 0);                                             \
    NEED(isotope_barrier##g(t, 255) == 0);                                                                        \
    NEED(isotope_team_stopped(t) == 0);                                                                           \
    return 0;                                                                                                     \
  }
CALLS(thread_calls, )
CALLS(warp_calls, _warp)
CALLS(block_calls, _block)

using Calls = int (*)(const isotope_team*, const Arrays&, std::uint64_t);
constexpr Calls kCalls[] = {thread_calls, warp_calls, block_calls};

ISOTOPE_KERNEL void make_calls(Team team, Calls calls, Arrays arrays, std::uint64_t round, int* failed) {
  failed[this_block().thread_rank()] = calls(reinterpret_cast<const isotope_team*>(&team), arrays, round);
}

/// Each region holds what the call brought from `pe`, and poison everywhere else.
void check_region(const unsigned char* region, Region which, int pe, int round) {
  unsigned char expected[kRegion];
  std::memset(expected, kPoison, sizeof(expected));
  if (which < kIput8) {
    for (std::size_t i = 0; i < kBytes; ++i) expected[i] = source_byte(pe, round, i);
  } else {
    const std::size_t width = std::size_t{1} << (which - kIput8) % 4;
    for (std::size_t e = 0; e < kElements; ++e)
      for (std::size_t b = 0; b < width; ++b)
        expected[e * kFar * width + b] = source_byte(pe, round, e * kNear * width + b);
  }
  EXPECT_EQ(std::memcmp(region, expected, kRegion), 0) << "region " << which << ", round " << round;
}

void check_calls(World& world, bool kernel) {
  auto out = world.alloc<unsigned char>(kRegions * kRegion);
  auto source = world.alloc<unsigned char>(kRegion);
  const int left = (world.rank() + world.size() - 1) % world.size(), right = (world.rank() + 1) % world.size();
  constexpr std::uint32_t kThreads[] = {1, 20, 40};  // one thread, a part of a warp, and more than one
  for (int kind = 0; kind < 3; ++kind) {
    // A team of its own for each kind: barriers count from 1 again.
    const OwnedTeam owned = world.split_strided(world.team(), 0, 1, world.size());
    const Team team = owned.team();
    auto signals = world.alloc_zeroed<std::uint64_t>(8);
    std::uint64_t rounds = 0;
    for (int round = 1; round <= 4; ++round) {
      std::memset(out.data(), kPoison, out.size());
      for (std::size_t i = 0; i < kRegion; ++i) source[i] = source_byte(world.rank(), round, i);
      world.barrier();
      const Arrays arrays{out.data(), source.data(), signals.data(), &rounds};
      int failed[40] = {};
      if (kernel) {
        world.launch<make_calls>({.block = kThreads[kind]}, team, kCalls[kind], arrays,
                                 static_cast<std::uint64_t>(round), &failed[0]);
        world.synchronize();
      } else {
        failed[0] =
            kCalls[kind](reinterpret_cast<const isotope_team*>(&team), arrays, static_cast<std::uint64_t>(round));
      }
      for (const int line : failed) ASSERT_EQ(line, 0) << "kind " << kind << ": the call number of this macro's line";
      world.barrier();
      for (int r = 0; r < kRegions; ++r) {
        const bool pushed = r <= kPutSignalNbi || (r >= kIput8 && r <= kIput64);
        check_region(out.data() + static_cast<std::size_t>(r) * kRegion, static_cast<Region>(r), pushed ? left : right,
                     round);
      }
      world.barrier();
    }
  }
}

TEST_P(CEdge, FromKernels) {
  run([](World& world) { check_calls(world, true); });
}

TEST_P(CEdge, FromHostCode) {
  run([](World& world) { check_calls(world, false); });
}

// ---- grids ----------------------------------------------------------------------------------------------------------
ISOTOPE_KERNEL void grid_calls(Team team, int* order, int* failed) {
  const auto* t = reinterpret_cast<const isotope_team*>(&team);
  const std::uint32_t block = this_block().rank();
  for (int round = 1; round <= 5; ++round) {
    if (this_block().is_leader()) order[block] = round;
    if (isotope_grid_sync(t) != 0) ++failed[block];
    if (order[(block + 1) % 3] != round) ++failed[block];
    if (isotope_grid_sync(t) != 0) ++failed[block];
  }
}

TEST_P(CEdge, GridSync) {
  run([](World& world) {
    int order[3] = {}, failed[3] = {};
    world.launch<grid_calls>({.grid = 3, .block = 4}, world.team(), &order[0], &failed[0]);
    world.synchronize();
    for (const int count : failed) EXPECT_EQ(count, 0);
    world.barrier();
  });
}

}  // namespace
}  // namespace isotope
