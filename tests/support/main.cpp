// main() of the tests of GPU_SUITE: says which of them make sense in the job or on the platform that the program finds
// itself in, unless a filter was given.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/job_shape.hpp"

namespace {

/// What a PE but the first prints: what failed there.
class FailuresOfPe : public ::testing::EmptyTestEventListener {
 public:
  explicit FailuresOfPe(int rank) : rank_(rank) {}
  // Kept for the next call, which comes with GoogleTest's lock held and may not ask it.
  void OnTestStart(const ::testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name();
  }
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::printf("PE %d: %s: %s:%d: %s\n", rank_, test_.c_str(), result.file_name() == nullptr ? "" : result.file_name(),
                result.line_number(), result.message());
    std::fflush(stdout);
  }

 private:
  int rank_;
  std::string test_;
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  std::string shapes = "*";
  if (const auto place = isotope::testing::job_place()) {
    shapes = "*/" + std::to_string(place->pes) + "Processes";
    if (place->rank != 0) {
      auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
      delete listeners.Release(listeners.default_result_printer());
      listeners.Append(new FailuresOfPe(place->rank));
    }
  } else {
    // Left to itself a program that nvcc has compiled would take a GPU, and PEs that are processes are forked here.
    ::setenv("ISOTOPE_PLATFORM", "cpu", 0);
    if (std::string(std::getenv("ISOTOPE_PLATFORM")) != "cpu") shapes = "*Threads";
  }
  if (GTEST_FLAG_GET(filter) == "*") GTEST_FLAG_SET(filter, shapes);
  return RUN_ALL_TESTS();
}
