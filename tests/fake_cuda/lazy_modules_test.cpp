// One line a job where CUDA loads kernels at their first launch, although it was asked not to.
#include "gpu_job.hpp"

namespace isotope {
namespace {

class GpuLazyModules : public testing::GpuJobTest {
 protected:
  static constexpr const char* kWarning = "CUDA loads kernels at their first launch on ";
};
ISOTOPE_ALL_SHAPES(GpuLazyModules);

TEST_P(GpuLazyModules, NobodyIsToldWhereTheyAreLoadedEagerly) {
  const std::string said = said_by([](World&) {});
  EXPECT_EQ(lines_with(said, kWarning), 0) << said;
}

TEST_P(GpuLazyModules, OneLineSaysWhatToDo) {
  fake_cuda::reset({.lazy_modules = true});
  const std::string said = said_by([](World& world) { world.barrier(); });
  if (GetParam().pes == 1) {
    EXPECT_EQ(said, "") << "there is no peer that could wait";
    return;
  }
  EXPECT_EQ(lines_with(said, std::string(kWarning) + "all PEs: "), 1) << said;
  EXPECT_EQ(lines_with(said, "Set CUDA_MODULE_LOADING=EAGER before the program starts"), 1) << said;
}

// Processes of one job need not have started CUDA alike.
TEST_P(GpuLazyModules, ThePesAreNamed) {
  if (GetParam().threads || GetParam().pes == 1) return;
  const int last = GetParam().pes - 1;
  ::testing::internal::CaptureStderr();
  const JobResult result = run_processes({.pes = GetParam().pes, .timeout = std::chrono::seconds(60)}, [&] {
    fake_cuda::reset({.lazy_modules = std::getenv("ISOTOPE_RANK") == std::to_string(last)});
    World world = init();
    world.barrier();
    return 0;
  });
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(result.exit_code, 0) << result.message;
  EXPECT_EQ(lines_with(said, kWarning + ("PE " + std::to_string(last)) + ": "), 1) << said;
}

}  // namespace
}  // namespace isotope
