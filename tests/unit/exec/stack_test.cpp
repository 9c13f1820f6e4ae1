// Stacks: rounding, guard pages, and overflows found without them.
#include <cstring>

#include "exec/grid.hpp"
#include "exec/stack.hpp"
#include "support.hpp"

namespace isotope::test {
namespace {

class NoGuards {
 public:
  NoGuards() : before_(exec::StackSlab::set_guard_limit(0)) {}
  ~NoGuards() { exec::StackSlab::set_guard_limit(before_); }

 private:
  std::uint32_t before_;
};

#if defined(__clang__)
#define ISOTOPE_PLAIN_FRAME __attribute__((noinline, no_sanitize("address", "thread", "undefined"), optnone))
#else
#define ISOTOPE_PLAIN_FRAME __attribute__((noinline, no_sanitize("address", "thread", "undefined"), optimize("O0")))
#endif  // __clang__

// Fills the stack down to `limit` and comes back.
ISOTOPE_PLAIN_FRAME void dig(const char* limit) {
  volatile char frame[64];
  for (unsigned i = 0; i < sizeof(frame); ++i) frame[i] = 0x5a;
  if (static_cast<const char*>(__builtin_frame_address(0)) > limit) dig(limit);
  frame[0] = frame[1];
}

TEST(Stack, SizesAreRoundedUp) {
  EXPECT_EQ(exec::rounded_stack_bytes(1), exec::kMinStackBytes);
  EXPECT_EQ(exec::rounded_stack_bytes(100000), 102400u);
}

TEST(Stack, WholeStackCanBeUsed) {
  constexpr std::size_t kStack = 50 * 4096;
  int ran = 0;
  run(1, 80,
      [&] {
        this_block().sync();
        const exec::Stack& stack = exec::current_fiber()->stack;
        if (stack.low != nullptr) {
          EXPECT_GE(stack.top - stack.low, static_cast<std::ptrdiff_t>(kStack));
          dig(stack.low + 1024);
        }
        this_block().sync();
        ++ran;
      },
      0, {.stack_bytes = kStack});
  EXPECT_EQ(ran, 80);
}

// One thread runs out of its unguarded stack, then waits or ends; the fiber below is hit on the way.
void overflow(std::size_t stack_bytes, std::uint32_t culprit, bool waits_after) {
  const NoGuards no_guards;
  const exec::ExecLimits limits{.stack_bytes = stack_bytes};
  int ended = 0;
  const Error e = error_of([&] {
    run(
        2, 64,
        [&] {
          const Block b = this_block();
          b.sync();
          if (b.rank() == 1 && b.thread_rank() == culprit) {
            const exec::Stack& stack = exec::current_fiber()->stack;
            ASSERT_NE(stack.landing, nullptr);
            dig(reinterpret_cast<const char*>(stack.landing) - 3000);  // well into the frames of the fiber below
            if (waits_after) b.sync();
          } else {
            b.sync();
          }
          ++ended;
        },
        0, limits);
  });
  EXPECT_EQ(e.code(), Code::kernel_failed);
  for (const char* part : {"overflowed its stack", "ISOTOPE_STACK_BYTES", "block 1"})
    EXPECT_TRUE(contains(e.what(), part)) << e.what();
  EXPECT_TRUE(contains(e.what(), "thread " + std::to_string(culprit))) << e.what();
  EXPECT_GE(ended, 127);  // the thread below may be lost, nobody else
  for (int i = 0; i < 3; ++i)
    run(
        4, 64,
        [&] {
          this_block().sync();
          this_warp().sync();
        },
        0, limits);
}

TEST(Stack, AnOverflowWithoutGuardIsReportedAtTheEnd) {
  for (std::uint32_t culprit : {1u, 20u, 63u}) overflow(20 * 1024, culprit, false);
}

TEST(Stack, AnOverflowWithoutGuardIsReportedAtAWait) {
  for (std::uint32_t culprit : {2u, 33u, 62u}) overflow(24 * 1024, culprit, true);
}

using StackDeathTest = ::testing::Test;

TEST(StackDeathTest, AGuardPageStopsAnOverflow) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(run(1, 2,
                   [] {
                     this_block().sync();
                     const exec::Stack& stack = exec::current_fiber()->stack;
                     if (stack.low != nullptr) dig(stack.low - 8192);
                     this_block().sync();
                   }),
               "");
}

TEST(Stack, GuardsEndAtTheLimit) {
  const std::uint32_t before = exec::StackSlab::set_guard_limit(8);
  const auto guarded = exec::StackSlab::map(16384, 4);
  const std::uint32_t none = 0;
  exec::StackSlab::set_guard_limit(none);
  const auto bare = exec::StackSlab::map(16384, 4);
  exec::StackSlab::set_guard_limit(before);
  ASSERT_TRUE(guarded && bare);
  EXPECT_FALSE(bare->guarded());
  for (std::uint32_t i = 0; i < 4; ++i) {
    const exec::Stack stack = bare->stack(i);
    EXPECT_FALSE(stack.overflowed(stack.low));
    EXPECT_TRUE(stack.overflowed(stack.low - 1));
    stack.landing[5] ^= 1;
    EXPECT_TRUE(stack.overflowed(stack.top));
    stack.repair();
    EXPECT_FALSE(stack.overflowed(stack.top));
    std::memset(stack.low, 1, static_cast<std::size_t>(stack.top - stack.low));  // a full stack touches no landing line
  }
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_FALSE(bare->stack(i).overflowed(bare->stack(i).top));
}

}  // namespace
}  // namespace isotope::test
