// Runs a test body on every PE of a job whose PEs drive the fake driver's GPUs, and looks at what is left afterwards.
#pragma once

#include <cstdlib>

#include "fake_cuda.hpp"
#include "support/job_shape.hpp"

namespace isotope::testing {

class GpuJobTest : public JobTest {
 protected:
  void SetUp() override {
    ::setenv("ISOTOPE_PLATFORM", "cuda", 1);
    fake_cuda::reset({});
  }
  void TearDown() override { EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{}) << "PEs as threads left something"; }

  /// With PEs as processes each looks at what it leaves, when its World is gone.
  void run(const std::function<void(World&)>& body, const InitOptions& options = {}) {
    const JobShape shape = GetParam();
    const auto pe_main = [&] {
      World world = init(options);
      ASSERT_EQ(world.size(), shape.pes);
      body(world);
    };
    if (shape.threads) {
      ASSERT_NO_THROW(run_threads(shape.pes, pe_main));
      return;
    }
    const JobResult result = run_processes({.pes = shape.pes, .timeout = std::chrono::seconds(60)}, [&] {
      pe_main();
      EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{}) << "a PE left something";
      return ::testing::Test::HasFailure() ? 1 : 0;
    });
    EXPECT_EQ(result.exit_code, 0) << result.message;
  }

  /// What there is between two barriers: nobody is about to make or drop anything.
  static fake_cuda::Live live_on_all(World& world) {
    world.barrier();
    const fake_cuda::Live live = fake_cuda::live();
    world.barrier();
    return live;
  }

  /// The code and text that `call` throws on this PE.
  template <class F>
  static std::pair<Code, std::string> error_of(F&& call) {
    try {
      call();
    } catch (const Error& error) {
      return {error.code(), error.what()};
    }
    return {Code::ok, "no error"};
  }
};

}  // namespace isotope::testing
