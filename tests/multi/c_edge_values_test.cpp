// The C functions on single values: p and g, atomics, accesses with order and scope, multicast, and what a team says.
// From kernels and, where that is the CPU's memory, from host code.
#include <cstring>
#include <vector>

#include "support/c_edge.hpp"
#include "support/job_shape.hpp"
#include "support/symmetric.hpp"

namespace isotope {
namespace {

class CEdgeValues : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(CEdgeValues);

#define NEED(...) \
  if (!(__VA_ARGS__)) return __LINE__

constexpr int kMaxPes = 8;
/// Symmetric: a slot of 16 bytes for each PE, written by that PE alone, for each kind of value; kMine: this PE's, of no
/// other.
struct alignas(16) Slot {
  unsigned char bytes[16];
};
enum Kind { kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64, kF32, kF64, kWord, kMine, kKinds };

/// Puts a value to every PE and gets it back.
#define ONE_VALUE(kind, name, T, value)                               \
  for (int pe = 0; pe < size; ++pe) {                                 \
    T* slot = reinterpret_cast<T*>(slots[kind * kMaxPes + me].bytes); \
    const T x = static_cast<T>(value);                                \
    NEED(EDGE(p_##name)(t, slot, x, pe) == 0);                        \
    NEED(EDGE(g_##name)(t, slot, pe) == x);                           \
    NEED(*static_cast<T*>(EDGE(team_at)(t, slot, pe)) == x);          \
  }

/// The atomics that every type has, then those of integers, in a word of this PE's own on each PE.
#define ANY_WORD(name, T)                                                                                           \
  NEED(EDGE(atomic_set_##name)(t, word, T{40}, pe) == 0);                                                           \
  NEED(EDGE(atomic_fetch_##name)(t, word, pe) == T{40});                                                            \
  NEED(EDGE(atomic_swap_##name)(t, word, T{50}, pe) == T{40});                                                      \
  NEED(EDGE(atomic_add_##name)(t, word, T{6}, pe) == 0);                                                            \
  NEED(EDGE(atomic_fetch_add_##name)(t, word, T{4}, pe) == T{56});                                                  \
  {                                                                                                                 \
    T expected = T{2};                                                                                              \
    T& mine = *reinterpret_cast<T*>(slots[kMine * kMaxPes].bytes);                                                  \
    EDGE(store_##name)(&mine, T{3}, ISOTOPE_ORDER_RELEASE, ISOTOPE_SCOPE_BLOCK);                                    \
    NEED(EDGE(load_##name)(&mine, ISOTOPE_ORDER_ACQUIRE, ISOTOPE_SCOPE_SYSTEM) == T{3});                            \
    NEED(EDGE(exchange_##name)(&mine, T{5}, ISOTOPE_ORDER_ACQ_REL, ISOTOPE_SCOPE_DEVICE) == T{3});                  \
    NEED(EDGE(compare_exchange_##name)(&mine, &expected, T{9}, ISOTOPE_ORDER_SEQ_CST, ISOTOPE_SCOPE_SYSTEM) == 0 && \
         expected == T{5});                                                                                         \
    NEED(EDGE(compare_exchange_##name)(&mine, &expected, T{9}, ISOTOPE_ORDER_RELAXED, ISOTOPE_SCOPE_THREAD) == 1 && \
         mine == T{9});                                                                                             \
    NEED(EDGE(fetch_add_##name)(&mine, T{1}, ISOTOPE_ORDER_RELAXED, ISOTOPE_SCOPE_CLUSTER) == T{9});                \
    NEED(mine == T{10});                                                                                            \
  }
#define LOCAL(op, name, value, before, after) \
  NEED(EDGE(fetch_##op##_##name)(&mine, value, ISOTOPE_ORDER_RELAXED, ISOTOPE_SCOPE_SYSTEM) == before && mine == after);
#define INTEGER(name, T)                                                                                \
  for (int pe = 0; pe < size; ++pe) {                                                                   \
    T* word = reinterpret_cast<T*>(slots[kWord * kMaxPes + me].bytes);                                  \
    ANY_WORD(name, T)                                                                                   \
    NEED(EDGE(atomic_compare_swap_##name)(t, word, T{1}, T{2}, pe) == T{60});                           \
    NEED(EDGE(atomic_compare_swap_##name)(t, word, T{60}, T{8}, pe) == T{60});                          \
    NEED(EDGE(atomic_inc_##name)(t, word, pe) == 0);                                                    \
    NEED(EDGE(atomic_fetch_inc_##name)(t, word, pe) == T{9});                                           \
    NEED(EDGE(atomic_or_##name)(t, word, T{5}, pe) == 0);                                               \
    NEED(EDGE(atomic_fetch_or_##name)(t, word, T{16}, pe) == T{15});                                    \
    NEED(EDGE(atomic_and_##name)(t, word, T{30}, pe) == 0);                                             \
    NEED(EDGE(atomic_fetch_and_##name)(t, word, T{28}, pe) == T{30});                                   \
    NEED(EDGE(atomic_xor_##name)(t, word, T{3}, pe) == 0);                                              \
    NEED(EDGE(atomic_fetch_xor_##name)(t, word, T{1}, pe) == T{31});                                    \
    NEED(EDGE(atomic_fetch_##name)(t, word, pe) == T{30});                                              \
    T& mine = *reinterpret_cast<T*>(slots[kMine * kMaxPes].bytes);                                      \
    mine = T{12};                                                                                       \
    LOCAL(sub, name, T{2}, T{12}, T{10})                                                                \
    LOCAL(and, name, T{6}, T{10}, T{2})                                                                 \
    LOCAL(or, name, T{5}, T{2}, T{7})                                                                   \
    LOCAL(xor, name,                                                                                    \
          T{                                                                                            \
              1},                                                                                       \
          T{7}, T{6})                                                                                   \
    LOCAL(min, name, static_cast<T>(-1), T{6}, (static_cast<T>(-1) < T{6} ? static_cast<T>(-1) : T{6})) \
    mine = T{6};                                                                                        \
    LOCAL(max, name, T{9}, T{6}, T{9})                                                                  \
  }
#define FLOAT(name, T)                                                 \
  for (int pe = 0; pe < size; ++pe) {                                  \
    T* word = reinterpret_cast<T*>(slots[kWord * kMaxPes + me].bytes); \
    ANY_WORD(name, T)                                                  \
    NEED(EDGE(atomic_fetch_##name)(t, word, pe) == T{60});             \
  }
#define HALF(name)                                                                                       \
  for (int pe = 0; pe < size; ++pe) {                                                                    \
    auto* word = reinterpret_cast<std::uint16_t*>(slots[kWord * kMaxPes + me].bytes);                    \
    NEED(EDGE(p_u16)(t, word, name(1.5f).bits, pe) == 0);                                                \
    NEED(EDGE(atomic_add_##name)(t, word, name(2.0f).bits, pe) == 0);                                    \
    NEED(EDGE(atomic_fetch_add_##name)(t, word, name(0.25f).bits, pe) == name(3.5f).bits);               \
    NEED(EDGE(g_u16)(t, word, pe) == name(3.75f).bits);                                                  \
    auto& mine = *reinterpret_cast<std::uint16_t*>(slots[kMine * kMaxPes].bytes);                        \
    mine = name(-1.0f).bits;                                                                             \
    NEED(EDGE(fetch_add_##name)(&mine, name(-0.5f).bits, ISOTOPE_ORDER_RELAXED, ISOTOPE_SCOPE_SYSTEM) == \
         name(-1.0f).bits);                                                                              \
    NEED(mine == name(-1.5f).bits);                                                                      \
  }

/// Returns 0, or the line of the first call that went wrong.
ISOTOPE_HD int value_calls(const isotope_team* t, Slot* slots) {
  const int size = EDGE(team_size)(t), me = EDGE(team_rank)(t);
  ONE_VALUE(kI8, i8, std::int8_t, -100 - me)
  ONE_VALUE(kI16, i16, std::int16_t, -30000 - me)
  ONE_VALUE(kI32, i32, std::int32_t, -2000000000 - me)
  ONE_VALUE(kI64, i64, std::int64_t, -9000000000000000000 - me)
  ONE_VALUE(kU8, u8, std::uint8_t, 200 + me)
  ONE_VALUE(kU16, u16, std::uint16_t, 60000 + me)
  ONE_VALUE(kU32, u32, std::uint32_t, 4000000000u + static_cast<unsigned>(me))
  ONE_VALUE(kU64, u64, std::uint64_t, 18000000000000000000u + static_cast<unsigned>(me))
  ONE_VALUE(kF32, f32, float, 0.5f + static_cast<float>(me))
  ONE_VALUE(kF64, f64, double, 0.1 + me)
  INTEGER(i32, std::int32_t)
  INTEGER(u32, std::uint32_t)
  INTEGER(i64, std::int64_t)
  INTEGER(u64, std::uint64_t)
  FLOAT(f32, float)
  FLOAT(f64, double)
  HALF(f16)
  HALF(bf16)
  EDGE(memory_fence)(ISOTOPE_ORDER_SEQ_CST, ISOTOPE_SCOPE_SYSTEM);
  Bits128 from{1, 2}, value{};
  auto* to = reinterpret_cast<Bits128*>(slots[kMine * kMaxPes].bytes);
  EDGE(store16)(to, &from);
  EDGE(load16)(to, &value);
  NEED(value == from && *to == from);
  return 0;
}

ISOTOPE_HD int team_calls(const isotope_team* t, Slot* slots, const Team& team) {
  NEED(EDGE(team_rank)(t) == team.rank() && EDGE(team_size)(t) == team.size());
  for (int pe = -1; pe <= team.size(); ++pe) {
    const bool member = pe >= 0 && pe < team.size();
    NEED(EDGE(team_reachable)(t, pe) == (member ? 1 : 0));
    if (!member) continue;
    NEED(EDGE(team_world_rank)(t, pe) == team.world_rank(pe));
    NEED(EDGE(team_at)(t, slots, pe) == team.at(slots, pe));
  }
  NEED(EDGE(team_multicast)(t, slots) == nullptr);  // no such hardware here
  NEED(EDGE(team_stopped)(t) == 0);
  return 0;
}

// All PEs reduce into all copies at once; a barrier between the steps.
ISOTOPE_HD int multicast_calls(const isotope_team* t, Slot* slots) {
  const int size = EDGE(team_size)(t), me = EDGE(team_rank)(t);
  const Vec<std::int32_t, 4> mine{{1, -me, 1 << me, me}};
  const Vec<std::int32_t, 4> zero{{0, 0, 0, 100}};
  Slot* target = &slots[0];
  if (me == 0) NEED(EDGE(multimem_store_b16)(t, target, &zero) == 0);
  NEED(EDGE(barrier)(t, 0) == 0);
  NEED(EDGE(multimem_reduce_add_i32_b16)(t, target, &mine) == 0);
  NEED(EDGE(barrier)(t, 0) == 0);
  const auto* copy = reinterpret_cast<const std::int32_t*>(target->bytes);
  const int ranks = size * (size - 1) / 2;
  NEED(copy[0] == size && copy[1] == -ranks && copy[2] == (1 << size) - 1 && copy[3] == 100 + ranks);
  alignas(16) std::int32_t sums[4] = {};
  NEED(EDGE(multimem_load_reduce_add_i32_b8)(t, target, sums) == 0);
  NEED(sums[0] == size * size && sums[1] == -ranks * size && sums[2] == 0);
  NEED(EDGE(multimem_load_reduce_xor_u32_b4)(t, target, sums) == 0);
  NEED(sums[0] == (size % 2 == 0 ? 0 : size));
  NEED(EDGE(barrier)(t, 0) == 0);
  // Narrow floats: each PE's own copy differs.
  auto* halves = reinterpret_cast<f16*>(target->bytes);
  for (int i = 0; i < 8; ++i) halves[i] = f16(static_cast<float>(me - i));
  NEED(EDGE(barrier)(t, 0) == 0);
  alignas(16) f16 result[8];
  NEED(EDGE(multimem_load_reduce_max_f16_b16)(t, target, result) == 0);
  for (int i = 0; i < 8; ++i) NEED(static_cast<float>(result[i]) == static_cast<float>(size - 1 - i));
  NEED(EDGE(multimem_load_reduce_add_f16_b4)(t, target, result) == 0);
  NEED(static_cast<float>(result[0]) == static_cast<float>(ranks));
  NEED(static_cast<float>(result[1]) == static_cast<float>(ranks - size));
  return EDGE(barrier)(t, 0) == 0 ? 0 : __LINE__;
}

ISOTOPE_KERNEL void make_calls(Team team, Slot* slots, int* failed) {
  const auto* t = reinterpret_cast<const isotope_team*>(&team);
  failed[0] = value_calls(t, slots);
  failed[1] = team_calls(t, slots, team);
  failed[2] = multicast_calls(t, slots);
}

TEST_P(CEdgeValues, FromKernelsAndHostCode) {
  run([](World& world) {
    auto slots = world.alloc<Slot>(kKinds * kMaxPes);
    auto failed = world.alloc<int>(3);
    const Team team = world.team();
    const auto* t = reinterpret_cast<const isotope_team*>(&team);
    Slot poison{};
    std::memset(poison.bytes, 0xd3, sizeof(poison.bytes));
    for (int round = 0; round < 3; ++round) {
      testing::fill(slots, poison);
      testing::fill(failed, -1);
      world.barrier();
      world.launch<make_calls>({}, team, slots.data(), failed.data());
      world.synchronize();
      for (const int line : failed.read()) EXPECT_EQ(line, 0) << "in a kernel, at this line";
      world.barrier();
      if (!world.drives_gpu()) {
        EXPECT_EQ(value_calls(t, slots.data()), 0) << "in host code, at this line";
        EXPECT_EQ(team_calls(t, slots.data(), team), 0) << "in host code, at this line";
        EXPECT_EQ(multicast_calls(t, slots.data()), 0) << "in host code, at this line";
      }
      world.barrier();
      // The values others put are here, each in its slot, and nothing beside them.
      for (int pe = 0; pe < world.size(); ++pe) {
        const Slot slot = slots.get(static_cast<std::size_t>(kU64 * kMaxPes + pe));
        std::uint64_t value = 0;
        std::memcpy(&value, slot.bytes, sizeof(value));
        EXPECT_EQ(value, 18000000000000000000u + static_cast<unsigned>(pe));
        for (int i = 8; i < 16; ++i) EXPECT_EQ(slot.bytes[i], 0xd3);
      }
      world.barrier();
    }
  });
}

}  // namespace
}  // namespace isotope
