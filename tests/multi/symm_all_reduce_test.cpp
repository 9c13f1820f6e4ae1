// symm_all_reduce: an all-reduce whose type and operation are numbers, from C, from host code and inside kernels.
#include "isotope/collective/symm.hpp"

#include <cstdint>
#include <vector>

#include "isotope/host/collectives.hpp"
#include "isotope/isotope.h"
#include "support/job_shape.hpp"
#include "support/refusals.hpp"

namespace isotope {
namespace {

class SymmAllReduce : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(SymmAllReduce);

const isotope_symm_context* c_context(const SymmContext& context) {
  return reinterpret_cast<const isotope_symm_context*>(&context);
}

ISOTOPE_KERNEL void reduce_in_kernel(SymmContext context, float* x, std::size_t first, std::size_t n, int* codes) {
  const int code = symm_all_reduce(this_block(), &context, x, first * sizeof(float), n, REDUCE_OP_SUM, DTYPE_FLOAT32);
  if (this_block().is_leader()) *codes = code;
}

/// What each block has written before is in it.
ISOTOPE_KERNEL void reduce_by_grid(SymmContext context, float* x, std::size_t first, std::size_t n, int* codes) {
  const Block block = this_block();
  const std::size_t threads = block.grid_size() * block.size(),
                    me = block.rank() * std::size_t{block.size()} + block.thread_rank();
  for (std::size_t i = me; i < n; i += threads) x[first + i] += 1;
  const int code = symm_all_reduce(this_grid(), &context, x, first * sizeof(float), n, REDUCE_OP_SUM, DTYPE_FLOAT32);
  if (code != 0 || (block.rank() == 0 && block.is_leader())) *codes = code;
}

void sums_in_place(World& world) {
  Collectives coll(world, {.channels = 3, .slot_bytes = 1920});
  const int n = world.size(), me = world.rank();
  constexpr std::size_t kCount = 1999, kFirst = 3;  // larger than a slot, and not aligned
  auto x = world.alloc<float>(kCount + kFirst + 1);
  auto code = world.alloc<int>(1);
  for (int round = 0; round < 9; ++round) {
    std::vector<float> values(kCount + kFirst + 1, -1.0f);
    for (std::size_t i = 0; i < kCount; ++i)
      values[kFirst + i] = static_cast<float>(static_cast<int>(i % 100) + me * 1000 + round);
    x.write(values);
    code.set(0, 77);
    world.barrier();
    const bool by_grid = round % 3 == 2;
    if (by_grid) {
      world.launch<reduce_by_grid>({.grid = 3, .block = round % 2 == 0 ? 1u : 64u}, coll.symm_context(), x.data(),
                                   kFirst, kCount, code.data());
    } else {
      world.launch<reduce_in_kernel>({.block = round % 2 == 0 ? 1u : 64u}, coll.symm_context(), x.data(), kFirst,
                                     kCount, code.data());
    }
    world.synchronize();
    EXPECT_EQ(code.get(0), 0);
    const auto got = x.read();
    for (std::size_t i = 0; i < kCount; ++i)
      ASSERT_EQ(got[kFirst + i], static_cast<float>(static_cast<int>(i % 100) * n + 1000 * (n * (n - 1) / 2) +
                                                    round * n + (by_grid ? n : 0)))
          << i;
    EXPECT_EQ(got[kFirst - 1], -1.0f);
    EXPECT_EQ(got[kFirst + kCount], -1.0f);
  }
}

void every_type_and_operation_from_c(World& world) {
  Collectives coll(world);
  const SymmContext context = coll.symm_context();
  const int n = world.size();
  auto x = world.alloc<std::uint64_t>(4);
  for (int type = 0; type <= DTYPE_UINT64; ++type) {
    for (int op = 0; op <= REDUCE_OP_AVG; ++op) {
      x.write(std::vector<std::uint64_t>(4, 0));
      world.barrier();
      const bool bits = op == REDUCE_OP_AND || op == REDUCE_OP_OR || op == REDUCE_OP_XOR;
      EXPECT_EQ(::symm_all_reduce(c_context(context), x.data(), 8, 2, op, type), bits && type <= DTYPE_E5M2 ? -3 : 0)
          << type << " " << op;
    }
  }
  // One with values: u16 products wrap.
  std::vector<std::uint16_t> values(16, 300);
  auto y = world.alloc<std::uint16_t>(16);
  y.write(values);
  world.barrier();
  EXPECT_EQ(::symm_all_reduce(c_context(context), y.data(), 4, 7, REDUCE_OP_PROD, DTYPE_UINT16), 0);
  std::uint16_t product = 1;
  for (int i = 0; i < n; ++i) product = static_cast<std::uint16_t>(product * 300u);
  const auto got = y.read();
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(got[i], i >= 2 && i < 9 ? product : 300) << i;
}

void bad_arguments_have_their_codes(World& world) {
  Collectives coll(world);
  SymmContext context = coll.symm_context();
  auto x = world.alloc_zeroed<float>(8);
  const auto call = [&](int op, int type) { return ::symm_all_reduce(c_context(context), x.data(), 0, 8, op, type); };
  EXPECT_EQ(::symm_all_reduce(nullptr, x.data(), 0, 8, REDUCE_OP_SUM, DTYPE_FLOAT32), -1);
  EXPECT_EQ(call(-1, DTYPE_FLOAT32), -3);
  EXPECT_EQ(call(8, DTYPE_FLOAT32), -3);
  EXPECT_EQ(call(REDUCE_OP_SUM, -1), -4);
  EXPECT_EQ(call(REDUCE_OP_SUM, 14), -4);
  EXPECT_EQ(call(REDUCE_OP_XOR, DTYPE_BFLOAT16), -3);
  EXPECT_EQ(::symm_all_reduce(c_context(context), x.data(), -8, 8, REDUCE_OP_SUM, DTYPE_FLOAT32),
            static_cast<int>(Code::invalid_argument));
  EXPECT_EQ(::symm_all_reduce(c_context(context), x.data(), 0, -1, REDUCE_OP_SUM, DTYPE_FLOAT32),
            static_cast<int>(Code::invalid_argument));
  context.type = 1;
  EXPECT_EQ(call(REDUCE_OP_SUM, DTYPE_FLOAT32), -2);
  context.type = SymmContext::kIsotope;
  EXPECT_EQ(::symm_all_reduce(c_context(context), x.data(), 4, 8, REDUCE_OP_SUM, DTYPE_FLOAT32),
            static_cast<int>(Code::out_of_range));  // past the object; stops the team
  testing::expect_refused(world, {"symm_all_reduce", "local_ptr", Code::out_of_range, "at most 28 were expected"});
  world.barrier();
  EXPECT_EQ(call(REDUCE_OP_SUM, DTYPE_FLOAT32), 0);
  for (const float value : x.read()) EXPECT_EQ(value, 0.0f);
}

TEST_P(SymmAllReduce, SumsInPlace) { run(sums_in_place); }
TEST_P(SymmAllReduce, EveryTypeAndOperationFromC) {
  run([](World& world) {
    if (world.drives_gpu()) GTEST_SKIP() << "C functions of the host move the host's memory";
    every_type_and_operation_from_c(world);
  });
}
TEST_P(SymmAllReduce, BadArgumentsHaveTheirCodes) {
  run([](World& world) {
    if (world.drives_gpu()) GTEST_SKIP() << "C functions of the host move the host's memory";
    bad_arguments_have_their_codes(world);
  });
}

}  // namespace
}  // namespace isotope
