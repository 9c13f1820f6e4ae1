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
//
// The programs of GPU_SUITE (multi/CMakeLists.txt) run their tests on a GPU too. A process that uses one cannot fork
// others that do, so with PEs as processes each of them runs the whole program, and all walk through the tests
// together:
//
//   isotope run -n 3 --platform cuda PROGRAM          the tests of 3 processes
//   ISOTOPE_PLATFORM=cuda PROGRAM                     those of threads
//   PROGRAM                                           all, on the CPU
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "isotope/isotope.hpp"

namespace isotope::testing {

struct JobShape {
  int pes = 1;
  bool threads = false;
};

inline std::string shape_name(const ::testing::TestParamInfo<JobShape>& info) {
  return std::to_string(info.param.pes) + (info.param.threads ? "Threads" : "Processes");
}

/// The rank of this process and the number of PEs, where it was started as one of a job of processes.
struct JobPlace {
  int rank = 0, pes = 1;
};
std::optional<JobPlace> job_place();

/// Each number of PEs once, most as processes; on a GPU, which is faster than the CPU's few cores, as threads too.
std::vector<JobShape> collective_shapes();

/// Runs `body` on every PE and expects it to end well. In a job of processes: on this PE, as all others do.
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

/// For tests that try everything.
#define ISOTOPE_COLLECTIVE_SHAPES(Suite)                                                             \
  INSTANTIATE_TEST_SUITE_P(All, Suite, ::testing::ValuesIn(::isotope::testing::collective_shapes()), \
                           ::isotope::testing::shape_name)
