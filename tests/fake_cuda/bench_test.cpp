// `isotope bench` and `isotope tune` on platform cuda, as far as a driver without kernels goes: GPUs are found, the job
// starts on them, and CUDA's runtime, which asks the driver for more than the fake one has, ends it with an error.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "support/command.hpp"

namespace isotope::testing {
namespace {

namespace fs = std::filesystem;

TEST(BenchOnGpus, StartsItsJobAndLeavesNothingWhenThatFails) {
  const fs::path folder = fs::path(isotope_binary()).parent_path();
  if (!fs::exists(folder / "isotope-bench-gpu")) GTEST_SKIP() << "no program for GPUs: it is built where nvcc is";
  const char* before = std::getenv("LD_LIBRARY_PATH");
  const std::string libraries =
      (folder.parent_path() / "fake_cuda").string() + (before != nullptr ? std::string(":") + before : "");
  const std::string table = fs::path(::testing::TempDir()) / ("isotope_gpu_table_" + std::to_string(::getpid()));
  adopt_orphans();
  const std::vector<std::vector<std::string>> commands = {
      {isotope_binary(), "bench", "broadcast", "--platform", "cuda", "--quick", "-n", "2"},
      {isotope_binary(), "tune", "--collectives", "broadcast", "--platform", "cuda", "--quick", "-n", "2", "--out",
       table}};
  for (const std::vector<std::string>& argv : commands) {
    Command command(argv, {{"LD_LIBRARY_PATH", libraries}});
    EXPECT_EQ(command.wait(std::chrono::seconds(50)), 1) << command.err();
    EXPECT_NE(command.err().find("cudaStreamCreateWithFlags"), std::string::npos) << command.err();
    EXPECT_NE(command.err().find("the job of benchmark broadcast on 2 PEs failed"), std::string::npos) << command.err();
    EXPECT_TRUE(no_process_left());
  }
  EXPECT_FALSE(fs::exists(table));
}

}  // namespace
}  // namespace isotope::testing
