// The C functions that move, signal and wait, by a thread, a warp and a block, from kernels and, where that is the
// CPU's memory, from host code.
#include <string>
#include <vector>

#include "support/c_edge.hpp"
#include "support/job_shape.hpp"
#include "support/symmetric.hpp"

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
#define STRIDED(g, bits)                                                                                 \
  {                                                                                                      \
    using T = std::uint##bits##_t;                                                                       \
    NEED(EDGE(iput##bits##g)(t, reinterpret_cast<T*>(a.out + kIput##bits * kRegion),                     \
                             reinterpret_cast<const T*>(a.source), kFar, kNear, kElements, right) == 0); \
    NEED(EDGE(iget##bits##g)(t, reinterpret_cast<T*>(a.out + kIget##bits * kRegion),                     \
                             reinterpret_cast<const T*>(a.source), kFar, kNear, kElements, right) == 0); \
  }
#define CALLS(name, g)                                                                                                 \
  ISOTOPE_HD int name(const isotope_team* t, const Arrays& a, std::uint64_t round) {                                   \
    const int size = EDGE(team_size)(t), me = EDGE(team_rank)(t), right = (me + 1) % size;                             \
    const auto region = [&](Region r) { return a.out + r * kRegion; };                                                 \
    NEED(EDGE(epoch_next##g)(a.rounds) == round);                                                                      \
    NEED(EDGE(barrier##g)(t, 1) == 0);                                                                                 \
    NEED(EDGE(put##g)(t, region(kPut), a.source, kBytes, right) == 0);                                                 \
    NEED(EDGE(put_nbi##g)(t, region(kPutNbi), a.source, kBytes, right) == 0);                                          \
    NEED(EDGE(fence##g)(t) == 0);                                                                                      \
    NEED(EDGE(put_signal##g)(t, region(kPutSignal), a.source, kBytes, &a.signals[0], 1, ISOTOPE_SIGNAL_ADD, right) ==  \
         0);                                                                                                           \
    NEED(EDGE(put_signal_nbi##g)(t, region(kPutSignalNbi), a.source, kBytes, &a.signals[1], round, ISOTOPE_SIGNAL_SET, \
                                 right) == 0);                                                                         \
    NEED(EDGE(get##g)(t, region(kGet), a.source, kBytes, right) == 0);                                                 \
    NEED(EDGE(get_nbi##g)(t, region(kGetNbi), a.source, kBytes, right) == 0);                                          \
    STRIDED(g, 8) STRIDED(g, 16) STRIDED(g, 32) STRIDED(g, 64) NEED(EDGE(quiet##g)(t) == 0);                           \
    for (std::size_t i = 2; i < 5; ++i)                                                                                \
      NEED(EDGE(signal##g)(t, &a.signals[i], round, ISOTOPE_SIGNAL_SET, right) == 0);                                  \
    /* One word, then several. */                                                                                      \
    const int masks[3] = {1, 0, 0};                                                                                    \
    const std::uint64_t values[3] = {round, round, round};                                                             \
    std::size_t found[3] = {9, 9, 9};                                                                                  \
    NEED(EDGE(wait_until##g)(t, &a.signals[0], ISOTOPE_CMP_GE, round) == 0);                                           \
    NEED(EDGE(wait_until##g)(t, &a.signals[1], ISOTOPE_CMP_EQ, round) == 0);                                           \
    NEED(EDGE(wait_until_all##g)(t, &a.signals[2], 3, nullptr, ISOTOPE_CMP_GE, round) == 0);                           \
    NEED(EDGE(wait_until_all_vector##g)(t, &a.signals[2], 3, nullptr, ISOTOPE_CMP_EQ, values) == 0);                   \
    NEED(EDGE(wait_until_any##g)(t, &a.signals[2], 3, masks, ISOTOPE_CMP_GT, round - 1) - 1 < 2);                      \
    NEED(EDGE(wait_until_any_vector##g)(t, &a.signals[2], 3, masks, ISOTOPE_CMP_GE, values) - 1 < 2);                  \
    NEED(EDGE(wait_until_some##g)(t, &a.signals[2], 3, found, masks, ISOTOPE_CMP_NE, round - 1) == 2);                 \
    NEED(EDGE(wait_until_some_vector##g)(t, &a.signals[2], 3, found, nullptr, ISOTOPE_CMP_LE, values) == 3);           \
    NEED(EDGE(test)(&a.signals[2], ISOTOPE_CMP_LT, round + 1) == 1);                                                   \
    NEED(EDGE(test)(&a.signals[2], ISOTOPE_CMP_GT, round) == 0);                                                       \
    NEED(EDGE(test_all)(&a.signals[2], 3, nullptr, ISOTOPE_CMP_EQ, round) == 1);                                       \
    NEED(EDGE(test_all_vector)(&a.signals[2], 3, masks, ISOTOPE_CMP_GT, values) == 0);                                 \
    NEED(EDGE(test_any)(&a.signals[2], 3, masks, ISOTOPE_CMP_EQ, round) == 1);                                         \
    NEED(EDGE(test_any_vector)(&a.signals[2], 3, masks, ISOTOPE_CMP_LT, values) == kNoIndex);                          \
    NEED(EDGE(test_some)(&a.signals[2], 3, found, masks, ISOTOPE_CMP_EQ, round) == 2 && found[0] == 1);                \
    NEED(EDGE(test_some_vector)(&a.signals[2], 3, found, masks, ISOTOPE_CMP_EQ, values) == 2 && found[1] == 2);        \
    NEED(EDGE(signal_fetch)(&a.signals[3]) == round);                                                                  \
    NEED(EDGE(sync##g)(t, 2, ISOTOPE_ORDER_RELAXED) == 0);                                                             \
    const std::uint64_t arrived = EDGE(arrive##g)(t, 3, ISOTOPE_ORDER_ACQ_REL);                                        \
    NEED(arrived == round);                                                                                            \
    NEED(EDGE(wait##g)(t, 3, arrived, ISOTOPE_ORDER_ACQ_REL) == 0);                                                    \
    NEED(EDGE(barrier##g)(t, 255) == 0);                                                                               \
    NEED(EDGE(team_stopped)(t) == 0);                                                                                  \
    return 0;                                                                                                          \
  }
CALLS(thread_calls, )
CALLS(warp_calls, _warp)
CALLS(block_calls, _block)

enum class Kind { thread, warp, block };
template <Kind K>
ISOTOPE_HD int calls_of(const Team& team, const Arrays& arrays, std::uint64_t round) {
  const auto* t = reinterpret_cast<const isotope_team*>(&team);
  if constexpr (K == Kind::thread) return thread_calls(t, arrays, round);
  if constexpr (K == Kind::warp) return warp_calls(t, arrays, round);
  if constexpr (K == Kind::block) return block_calls(t, arrays, round);
}

template <Kind K>
ISOTOPE_KERNEL void make_calls(Team team, Arrays arrays, std::uint64_t round, int* failed) {
  failed[this_block().thread_rank()] = calls_of<K>(team, arrays, round);
}

/// Each region holds what the call brought from `pe`, and poison everywhere else.
void check_region(const std::vector<unsigned char>& region, Region which, int pe, int round) {
  std::vector<unsigned char> expected(kRegion, kPoison);
  if (which < kIput8) {
    for (std::size_t i = 0; i < kBytes; ++i) expected[i] = source_byte(pe, round, i);
  } else {
    const std::size_t width = std::size_t{1} << (which - kIput8) % 4;
    for (std::size_t e = 0; e < kElements; ++e)
      for (std::size_t b = 0; b < width; ++b)
        expected[e * kFar * width + b] = source_byte(pe, round, e * kNear * width + b);
  }
  EXPECT_EQ(region, expected) << "region " << which << ", round " << round;
}

constexpr std::uint32_t kMostThreads = 40;

template <Kind K>
void check_calls(World& world, bool kernel) {
  constexpr std::uint32_t kThreads = K == Kind::thread ? 1
                                     : K == Kind::warp ? 20
                                                       : kMostThreads;  // of a part of a warp, and of more
  auto out = world.alloc<unsigned char>(kRegions * kRegion);
  auto source = world.alloc<unsigned char>(kRegion);
  auto failed = world.alloc_zeroed<int>(kMostThreads);
  const int left = (world.rank() + world.size() - 1) % world.size(), right = (world.rank() + 1) % world.size();
  // A team of its own for each kind: barriers count from 1 again.
  const OwnedTeam owned = world.split_strided(world.team(), 0, 1, world.size());
  const Team team = owned.team();
  auto signals = world.alloc_zeroed<std::uint64_t>(8), rounds = world.alloc_zeroed<std::uint64_t>(1);
  for (int round = 1; round <= 4; ++round) {
    testing::fill(out, kPoison);
    std::vector<unsigned char> mine(kRegion);
    for (std::size_t i = 0; i < kRegion; ++i) mine[i] = source_byte(world.rank(), round, i);
    source.write(mine);
    world.barrier();
    const Arrays arrays{out.data(), source.data(), signals.data(), rounds.data()};
    if (kernel) {
      world.launch<make_calls<K>>({.block = kThreads}, team, arrays, static_cast<std::uint64_t>(round), failed.data());
      world.synchronize();
    } else {
      failed.set(0, calls_of<K>(team, arrays, static_cast<std::uint64_t>(round)));
    }
    for (const int line : failed.read())
      ASSERT_EQ(line, 0) << "kind " << static_cast<int>(K) << ": the call number of this macro's line";
    world.barrier();
    for (int r = 0; r < kRegions; ++r) {
      const bool pushed = r <= kPutSignalNbi || (r >= kIput8 && r <= kIput64);
      check_region(out.read(static_cast<std::size_t>(r) * kRegion, kRegion), static_cast<Region>(r),
                   pushed ? left : right, round);
    }
    world.barrier();
  }
}

void check_all_kinds(World& world, bool kernel) {
  check_calls<Kind::thread>(world, kernel);
  check_calls<Kind::warp>(world, kernel);
  check_calls<Kind::block>(world, kernel);
}

TEST_P(CEdge, FromKernels) {
  run([](World& world) { check_all_kinds(world, true); });
}

TEST_P(CEdge, FromHostCode) {
  run([](World& world) {
    if (!world.drives_gpu()) check_all_kinds(world, false);
  });
}

// ---- grids ----------------------------------------------------------------------------------------------------------
ISOTOPE_KERNEL void grid_calls(Team team, int* order, int* failed) {
  const auto* t = reinterpret_cast<const isotope_team*>(&team);
  const std::uint32_t block = this_block().rank();
  for (int round = 1; round <= 5; ++round) {
    if (this_block().is_leader()) order[block] = round;
    if (EDGE(grid_sync)(t) != 0) ++failed[block];
    if (order[(block + 1) % 3] != round) ++failed[block];
    if (EDGE(grid_sync)(t) != 0) ++failed[block];
  }
}

TEST_P(CEdge, GridSync) {
  run([](World& world) {
    auto order = world.alloc_zeroed<int>(3), failed = world.alloc_zeroed<int>(3);
    world.launch<grid_calls>({.grid = 3, .block = 4}, world.team(), order.data(), failed.data());
    world.synchronize();
    EXPECT_EQ(failed.read(), std::vector<int>(3, 0));
    world.barrier();
  });
}

}  // namespace
}  // namespace isotope
