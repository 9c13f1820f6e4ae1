// --platform: what it means, and which benchmarks there are on GPUs.
#include "bench/harness/platform.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "isotope/base/error.hpp"

namespace isotope::bench {
namespace {

TEST(ReadPlatform, IsTheCpuUnlessSomebodyAsks) {
  ::unsetenv("ISOTOPE_PLATFORM");
  EXPECT_EQ(read_platform(""), "cpu");
  EXPECT_EQ(read_platform("cuda"), "cuda");
  ::setenv("ISOTOPE_PLATFORM", "cuda", 1);
  EXPECT_EQ(read_platform(""), "cuda");
  EXPECT_EQ(read_platform("cpu"), "cpu") << "the option wins";
  ::setenv("ISOTOPE_PLATFORM", "auto", 1);
  EXPECT_EQ(read_platform(""), "cpu");
  ::unsetenv("ISOTOPE_PLATFORM");
  EXPECT_THROW(read_platform("auto"), Error);
}

TEST(TopicsOn, GpusAreTheCollectives) {
  std::vector<std::string> names;
  for (const auto& topic : topics_on("cuda")) names.push_back(topic->name());
  EXPECT_EQ(names,
            (std::vector<std::string>{"allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce"}));
  EXPECT_EQ(topics_on("cpu").size(), topics().size());
  EXPECT_NO_THROW(require_on_gpus(*find_topic("allreduce")));
  EXPECT_THROW(require_on_gpus(*find_topic("put")), Error);
}

TEST(RequireGpu, TakesNoThreads) {
  try {
    require_gpu(true);
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("--threads"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace isotope::bench
