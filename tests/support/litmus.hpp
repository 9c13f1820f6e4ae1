// Litmus tests: a few lines of concurrent code, run so often that a wrong outcome would show, with the loop inside one
// kernel.
//
//   class LitmusMessage : public testing::JobTest {};
//   ISOTOPE_LITMUS_SHAPES(LitmusMessage);
//
// Data that the memory model promises is written and read plainly, never atomically: with PEs as threads the thread
// sanitizer then checks the promise too, where x86 alone would forgive much.
#pragma once

#include <cstdint>

#include "isotope/isotope.hpp"
#include "support/job_shape.hpp"

namespace isotope::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t kLitmusRounds = 5'000;
#else
inline constexpr std::uint64_t kLitmusRounds = 100'000;
#endif  // __SANITIZE_ADDRESS__ || __SANITIZE_THREAD__

/// The most PEs of a litmus test: for arrays of kernels.
inline constexpr int kLitmusPes = 5;

/// What `from` writes for `to` in a round, at place `i`: no two of them are equal, and none is a neighbour of another.
ISOTOPE_HD std::uint64_t litmus_value(int from, int to, std::uint64_t round, std::uint64_t i) {
  const std::uint64_t key =
      ((round * 16 + static_cast<std::uint64_t>(from)) * 16 + static_cast<std::uint64_t>(to)) * 64 + i;
  return (key + 1) * 0x9e3779b97f4a7c15u;  // odd: one to one
}

}  // namespace isotope::testing

#define ISOTOPE_LITMUS_SHAPES(Suite)                                                                    \
  INSTANTIATE_TEST_SUITE_P(                                                                             \
      Litmus, Suite,                                                                                    \
      ::testing::Values(::isotope::testing::JobShape{2, false}, ::isotope::testing::JobShape{3, false}, \
                        ::isotope::testing::JobShape{5, false}, ::isotope::testing::JobShape{2, true},  \
                        ::isotope::testing::JobShape{3, true}, ::isotope::testing::JobShape{5, true}),  \
      ::isotope::testing::shape_name)
