// Launches as the host looks at them before the GPU does: what fits, what may come early, what an error means. What the
// CUDA runtime would say the test says.
#include "cuda/gpu.hpp"
#include "fake_runtime.hpp"
#include "gpu_job.hpp"

namespace isotope {
namespace {

using testing::fresh_kernel;
using testing::t_runtime;

class GpuLaunching : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("ISOTOPE_PLATFORM", "cuda", 1);
    fake_cuda::reset({.gpus = 1});
    t_runtime = {};
  }
  void TearDown() override { EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{}); }

  static std::string refused(World& world, const LaunchConfig& config, const detail::GpuKernel& kernel, Code code) {
    const std::size_t before = t_runtime.launches.size();
    std::string text = "it was launched";
    try {
      launch_as_compiled(world, config, kernel);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      text = error.what();
    }
    EXPECT_EQ(t_runtime.launches.size(), before);
    return text;
  }
  static bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
};

TEST_F(GpuLaunching, AsManyBlocksAsFit) {
  World world = init();
  const detail::GpuKernel kernel = fresh_kernel();
  launch_as_compiled(world, {.grid = 264, .block = 128}, kernel);
  EXPECT_EQ(t_runtime.launches.size(), 1u);
  const std::string text = refused(world, {.grid = 265, .block = 128}, kernel, Code::invalid_argument);
  EXPECT_TRUE(says(text, "265 blocks of 128 threads") && says(text, "132 multiprocessors") && says(text, "hold 264"))
      << text;
  launch_as_compiled(world, {.grid = 265, .block = 128, .resident = false}, kernel);
  EXPECT_EQ(t_runtime.launches.size(), 2u);
}

TEST_F(GpuLaunching, AsManyClustersAsFit) {
  World world = init();
  const detail::GpuKernel kernel = fresh_kernel();
  t_runtime.clusters = 30;
  launch_as_compiled(world, {.grid = 240, .block = 128, .cluster = 8}, kernel);
  EXPECT_EQ(t_runtime.launches.back().cluster.count(), 8u);
  const std::string text = refused(world, {.grid = 248, .block = 128, .cluster = 8}, kernel, Code::invalid_argument);
  EXPECT_TRUE(says(text, "clusters of 8") && says(text, "hold 240")) << text;
  launch_as_compiled(world, {.grid = 248, .block = 128, .resident = false, .cluster = 8}, kernel);
  // Without clusters more fits, and one shape is not taken for the other.
  launch_as_compiled(world, {.grid = 264, .block = 128}, kernel);
  refused(world, {.grid = 248, .block = 128, .cluster = 8}, kernel, Code::invalid_argument);
  t_runtime.clusters = 100;  // more than the multiprocessors would hold
  refused(world, {.grid = 272, .block = 128, .cluster = 4}, kernel, Code::invalid_argument);
  launch_as_compiled(world, {.grid = 264, .block = 128, .cluster = 4}, kernel);
}

TEST_F(GpuLaunching, OnlyCodeThatCanWaitComesEarly) {
  World world = init();
  const LaunchConfig early{.grid = 4, .block = 128, .programmatic = true};
  for (const auto& [version, comes] : std::vector<std::pair<int, bool>>{{90, true}, {100, true}, {80, false}}) {
    t_runtime.version = version;
    launch_as_compiled(world, early, fresh_kernel());
    EXPECT_EQ(t_runtime.launches.back().programmatic, comes) << version;
    LaunchConfig any = early;
    any.resident = false;
    launch_as_compiled(world, any, fresh_kernel());
    EXPECT_EQ(t_runtime.launches.back().programmatic, comes) << version << ", not resident";
  }
}

TEST_F(GpuLaunching, OnlyWhatFitsTwiceComesEarly) {
  World world = init();
  const detail::GpuKernel kernel = fresh_kernel();
  launch_as_compiled(world, {.grid = 132, .block = 128, .programmatic = true}, kernel);
  EXPECT_TRUE(t_runtime.launches.back().programmatic);
  launch_as_compiled(world, {.grid = 133, .block = 128, .programmatic = true}, kernel);
  EXPECT_FALSE(t_runtime.launches.back().programmatic);
}

TEST_F(GpuLaunching, TheRuntimeIsAskedOnceForEachShape) {
  World world = init();
  const detail::GpuKernel kernel = fresh_kernel();
  for (int i = 0; i < 3; ++i) launch_as_compiled(world, {.grid = 4, .block = 128}, kernel);
  EXPECT_EQ(t_runtime.asked, 1);
  launch_as_compiled(world, {.grid = 4, .block = 256}, kernel);
  EXPECT_EQ(t_runtime.asked, 2);
}

TEST_F(GpuLaunching, ErrorsSayWhatToDo) {
  fake_cuda::reset({.gpus = 1, .version = 12040});
  World world = init();
  const LaunchConfig one{.grid = 4, .block = 128};
  for (const auto& [error, part] : std::vector<std::pair<int, std::string>>{
           {35, "this machine's driver supports, which is 12.4"},
           {222, "this machine's driver supports, which is 12.4"},
           {209, "no code for this GPU (Fake GPU 0, sm_90): configure it with ISOTOPE_CUDA_ARCHITECTURES=90"},
           {98, "no code for this GPU"},
           {7, "the runtime's words"}}) {
    t_runtime.launch_error = error;
    t_runtime.room_error = 0;
    const detail::GpuKernel kernel = fresh_kernel();
    const std::string at_launch = refused(world, one, kernel, Code::kernel_failed);
    EXPECT_TRUE(says(at_launch, part) && says(at_launch, "the runtime's words")) << at_launch;
    // CUDA may say it when it is asked how much fits; what failed is asked again.
    t_runtime.room_error = error;
    const detail::GpuKernel unasked = fresh_kernel();
    const std::string before = refused(world, one, unasked, Code::invalid_argument);
    EXPECT_TRUE(says(before, part) && says(before, "the runtime's words")) << before;
    t_runtime.room_error = t_runtime.launch_error = 0;
    launch_as_compiled(world, one, unasked);
  }
}

TEST_F(GpuLaunching, ThreadsDivideTheGpuAndNothingComesEarly) {
  const detail::GpuKernel kernel = fresh_kernel();
  run_threads(3, [&] {
    World world = init();
    world.barrier();
    EXPECT_EQ(world.multiprocessors(), 44);
    if (world.rank() == 1) {
      launch_as_compiled(world, {.grid = 88, .block = 128, .programmatic = true}, kernel);
      EXPECT_FALSE(t_runtime.launches.back().programmatic);
      const std::string text = refused(world, {.grid = 89, .block = 128}, kernel, Code::invalid_argument);
      EXPECT_TRUE(says(text, "44 multiprocessors") && says(text, "shared by 3 PEs") && says(text, "hold 88")) << text;
    }
    world.barrier();
  });
}

// The user's streams that nobody holds are on their way out when one of them is wrapped again: the World has to know
// the queue that it gets.
TEST_F(GpuLaunching, AStreamIsWrappedAgainWhileItIsGivenBack) {
  const detail::GpuKernel kernel = fresh_kernel();
  run_threads(2, [&] {
    World world = init();
    world.barrier();
    if (world.rank() == 0) {
      const cuda::Gpu gpu(0);
      CUstream first = nullptr, second = nullptr;
      {
        const cuda::Current current(gpu.context());
        gpu.calls().cuStreamCreate(&first, CU_STREAM_NON_BLOCKING);
        gpu.calls().cuStreamCreate(&second, CU_STREAM_NON_BLOCKING);
      }
      Stream plain = world.wrap_stream(first);
      Stream with_event = world.wrap_stream(second);
      launch_as_compiled(world, {.grid = 1, .block = 32, .stream = with_event}, kernel);
      with_event = {};
      plain = {};
      Stream again;
      fake_cuda::before("cuEventDestroy", [&] { again = world.wrap_stream(first); });
      world.create_stream();
      ASSERT_TRUE(again);
      bool called = false;
      again.call([&] { called = true; });
      world.synchronize();
      EXPECT_TRUE(called) << "the World does not know it";
      again = {};
      gpu.calls().cuStreamDestroy(second);
      gpu.calls().cuStreamDestroy(first);
    }
    world.barrier();
  });
}

}  // namespace
}  // namespace isotope
