// Runs a test body on every PE of a job, for each shape of job: 1, 2, 3, 5 and 8 PEs, as processes and as threads.
//
//   class Barrier : public JobTest {};
//   ISOTOPE_ALL_SHAPES(Barrier);
//   TEST_P(Barrier, Returns) {
//     run([](World& world) { world.barrier(); EXPECT_EQ(...); });
//   }
//
// With PEs as processes, an expectation that fails in a PE prints there and makes the PE's exit status 1, which fails
// the test here.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "isotope/isotope.hpp"

namespace isotope::testing {

struct JobShape {
  int pes = 1;
  bool threads = false;
};

inline std::string shape_name(const ::testing::TestParamInfo<JobShape>& info) {
  return std::to_string(info.param.pes) + (info.param.threads ? "Threads" : "Processes");
}

/// Runs `body` on every PE and expects it to end well.
void run_on_all(const JobShape& shape, const std::function<void(World&)>& body, const InitOptions& options = {});

class JobTest : public ::testing::TestWithParam<JobShape> {
 protected:
  void run(const std::function<void(World&)>& body, const InitOptions& options = {}) {
    run_on_all(GetParam(), body, options);
  }
};

}  // namespace isotope::testing

#define ISOTOPE_ALL_SHAPES(Suite)                                                                       \
  INSTANTIATE_TEST_SUITE_P(                                                                             \
      All, Suite,                                                                                       \
      ::testing::Values(::isotope::testing::JobShape{1, false}, ::isotope::testing::JobShape{2, false}, \
                        ::isotope::testing::JobShape{3, false}, ::isotope::testing::JobShape{5, false}, \
                        ::isotope::testing::JobShape{8, false}, ::isotope::testing::JobShape{1, true},  \
                        ::isotope::testing::JobShape{2, true}, ::isotope::testing::JobShape{3, true},   \
                        ::isotope::testing::JobShape{5, true}, ::isotope::testing::JobShape{8, true}),  \
      ::isotope::testing::shape_name)

/// For tests that try everything: each number of PEs once, most as processes.
#define ISOTOPE_COLLECTIVE_SHAPES(Suite)                                                                \
  INSTANTIATE_TEST_SUITE_P(                                                                             \
      All, Suite,                                                                                       \
      ::testing::Values(::isotope::testing::JobShape{1, false}, ::isotope::testing::JobShape{2, false}, \
                        ::isotope::testing::JobShape{3, false}, ::isotope::testing::JobShape{4, true},  \
                        ::isotope::testing::JobShape{5, false}, ::isotope::testing::JobShape{8, false}), \
      ::isotope::testing::shape_name)
