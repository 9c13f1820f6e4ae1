// symm_all_reduce: an all-reduce whose type and operation are numbers, from C, from host code and inside kernels.
#include "isotope/collective/symm.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "isotope/host/collectives.hpp"
#include "isotope/isotope.h"
#include "support/collective_reference.hpp"
#include "support/job_shape.hpp"
#include "support/refusals.hpp"

namespace isotope {
namespace {

class SymmAllReduce : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(SymmAllReduce);
// Rounds of packets between four go a way of their own.
INSTANTIATE_TEST_SUITE_P(Four, SymmAllReduce, ::testing::Values(testing::JobShape{4, true}), testing::shape_name);

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

/// Of `count` elements of type T, from the third on, between bytes that stay.
template <class T>
void reduces_as_expected(World& world, const SymmContext& context, Symmetric<char>& memory, ReduceOp op,
                         std::size_t count) {
  constexpr char kPoison = static_cast<char>(0xa5);
  constexpr std::size_t kOffset = 3 * sizeof(T);
  const std::uint64_t seed = static_cast<std::uint64_t>(data_type_of<T>) * 8 + static_cast<std::uint64_t>(op);
  std::vector<char> bytes(memory.size(), kPoison);
  for (std::size_t i = 0; i < count; ++i) {
    const T value = testing::input_of<T>(op, seed, world.rank(), i);
    std::memcpy(bytes.data() + kOffset + i * sizeof(T), &value, sizeof(T));
  }
  memory.write(bytes);
  world.barrier();
  const int type = static_cast<int>(data_type_of<T>), operation = static_cast<int>(op);
  const int expected = reduces(data_type_of<T>, op) ? 0 : -3;
  const std::string what =
      std::to_string(count) + " of type " + std::to_string(type) + ", operation " + std::to_string(operation);
  const auto n = static_cast<std::int64_t>(count);
  ASSERT_EQ(::symm_all_reduce(c_context(context), memory.data(), kOffset, n, operation, type), expected) << what;
  std::vector<char> found = memory.read();
  for (std::size_t i = 0; expected == 0 && i < count; ++i) {
    std::vector<T> in;
    for (int k = 0; k < world.size(); ++k) in.push_back(testing::input_of<T>(op, seed, k, i));
    const testing::Reference reference =
        testing::reference_of<T>(op, Accumulate::wide, Span<const T>(in.data(), in.size()));
    T result;
    std::memcpy(&result, found.data() + kOffset + i * sizeof(T), sizeof(T));
    ASSERT_TRUE(testing::matches(reference, result))
        << what << ": element " << i << " is " << testing::difference(reference, result);
    std::memcpy(found.data() + kOffset + i * sizeof(T), bytes.data() + kOffset + i * sizeof(T), sizeof(T));
  }
  ASSERT_TRUE(found == bytes) << what << ": bytes beside the result have changed";
}

void every_type_and_operation_from_c(World& world) {
  Collectives coll(world, {.channels = 1, .slot_bytes = 1920});
  const SymmContext context = coll.symm_context();
  auto memory = world.alloc<char>(4096);
  for (const DataType type : testing::kTypes) {
    for (const ReduceOp op : testing::kOps) {
      testing::visit_type(type, [&]<class T>() {
        for (const std::size_t count : {std::size_t{1}, std::size_t{97}, 2000 / sizeof(T)})  // the last: beyond a slot
          reduces_as_expected<T>(world, context, memory, op, count);
      });
    }
  }
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
