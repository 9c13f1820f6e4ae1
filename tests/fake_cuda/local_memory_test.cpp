// Local memory where PEs that are threads share a GPU: set aside before the first launch, never later; a kernel that
// needs more is refused where it was said how much there is to be, and told of elsewhere. What the CUDA runtime would
// say of a kernel the test says.
#include "cuda/gpu.hpp"
#include "fake_runtime.hpp"
#include "gpu_job.hpp"

namespace isotope {
namespace {

using testing::fresh_kernel;
using testing::t_runtime;

class GpuLocalMemory : public testing::GpuJobTest {
 protected:
  void SetUp() override {
    GpuJobTest::SetUp();
    ::setenv("ISOTOPE_ALLOW_TIME_SLICING", "1", 1);  // processes share the GPU, too
    fake_cuda::reset({.gpus = 1});
    t_runtime = {};
  }
  void TearDown() override {
    ::unsetenv("ISOTOPE_ALLOW_TIME_SLICING");
    ::unsetenv("ISOTOPE_LOCAL_MEMORY_BYTES");
    GpuJobTest::TearDown();
  }
  static bool shared() { return GetParam().threads && GetParam().pes > 1; }

  /// PE 0 launches a kernel that needs so much; "" where it may.
  static std::string launch(World& world, std::size_t bytes, bool resident = true) {
    t_runtime.local_bytes = bytes;
    const detail::GpuKernel kernel = fresh_kernel();
    const LaunchConfig config{.grid = 4, .block = 128, .resident = resident};
    const bool fits = fits_as_compiled(world, config, kernel);
    const std::size_t before = t_runtime.launches.size();
    const auto [code, text] = error_of([&] { launch_as_compiled(world, config, kernel); });
    EXPECT_EQ(fits, code == Code::ok) << text;
    EXPECT_EQ(t_runtime.launches.size(), before + fits);
    if (code == Code::ok) return {};
    EXPECT_EQ(code, Code::invalid_argument) << text;
    return text;
  }
};
ISOTOPE_ALL_SHAPES(GpuLocalMemory);

TEST_P(GpuLocalMemory, IsSetAsideOnceInInitAndNeverLater) {
  ::setenv("ISOTOPE_LOCAL_MEMORY_BYTES", "8KiB", 1);
  run([](World& world) {
    const int in_init = fake_cuda::calls("cuCtxSetLimit");
    EXPECT_EQ(in_init, shared() ? 1 : 0);
    world.barrier();
    auto x = world.alloc<int>((70 << 20) / sizeof(int));  // past the first piece of the heap
    Stream stream = world.create_stream();
    if (world.rank() == 0) {
      for (const std::size_t bytes : {0, 1024, 8192}) EXPECT_EQ(launch(world, bytes), "") << bytes;
      if (shared()) {
        EXPECT_NE(launch(world, 8193), "");
      }
    }
    world.barrier();
    EXPECT_EQ(fake_cuda::calls("cuCtxSetLimit"), in_init);
    world.barrier();
  });
}

TEST_P(GpuLocalMemory, TheDriversOwnIsLeftUnlessMoreIsAskedFor) {
  for (const char* asked : {"auto", "1024", "16KiB"}) {
    ::setenv("ISOTOPE_LOCAL_MEMORY_BYTES", asked, 1);
    fake_cuda::reset({.gpus = 1, .local_memory = 16 * 1024});
    run([](World& world) {
      EXPECT_EQ(fake_cuda::calls("cuCtxSetLimit"), 0);
      if (world.rank() == 0) {
        EXPECT_EQ(launch(world, 16 * 1024), "");
      }
      world.barrier();
    });
  }
}

// Nothing was said, and all may go well: a word of warning, once.
TEST_P(GpuLocalMemory, KernelsThatNeedMoreAreToldOf) {
  run([](World& world) {
    if (world.rank() == 0) {
      ::testing::internal::CaptureStderr();
      for (int i = 0; i < 2; ++i) EXPECT_EQ(launch(world, 4096), "");
      const std::string said = ::testing::internal::GetCapturedStderr();
      const std::size_t first = said.find("needs 4096 bytes of local memory");
      EXPECT_EQ(first != std::string::npos, shared()) << said;
      if (shared()) {
        EXPECT_EQ(said.find("needs 4096", first + 1), std::string::npos) << said;
      }
    }
    world.barrier();
  });
}

// Processes have a context each: there nothing is asked, and nothing is refused.
TEST_P(GpuLocalMemory, KernelsThatNeedMoreThanWasSaidAreRefusedWherePesAreThreads) {
  ::setenv("ISOTOPE_LOCAL_MEMORY_BYTES", "1024", 1);
  run([](World& world) {
    if (world.rank() == 0) {
      for (const bool resident : {true, false}) {
        EXPECT_EQ(launch(world, 1024, resident), "");
        const std::string text = launch(world, 4096, resident);
        if (!shared()) {
          EXPECT_EQ(text, "");
          EXPECT_EQ(fake_cuda::calls("cuCtxGetLimit"), 0);
          continue;
        }
        for (const char* part : {"needs 4096 bytes of local memory", "GPU 0 has 1024 set aside",
                                 "ISOTOPE_LOCAL_MEMORY_BYTES=4096", "run the PEs as processes"})
          EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
      }
    }
    world.barrier();
  });
}

TEST_P(GpuLocalMemory, TheKnobLetsThemRun) {
  ::setenv("ISOTOPE_LOCAL_MEMORY_BYTES", "4096", 1);
  run([](World& world) {
    if (world.rank() == 0) {
      EXPECT_EQ(launch(world, 4096), "");
    }
    world.barrier();
  });
}

// Who sets the limit of the context himself, when he knows that no kernel runs, may.
TEST_P(GpuLocalMemory, TheLimitIsAskedAnew) {
  ::setenv("ISOTOPE_LOCAL_MEMORY_BYTES", "1024", 1);
  run([](World& world) {
    if (world.rank() == 0) {
      EXPECT_EQ(launch(world, 4096) != "", shared());
      const cuda::Gpu gpu(0);
      const cuda::Current current(gpu.context());
      EXPECT_EQ(gpu.calls().cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096), CUDA_SUCCESS);
      EXPECT_EQ(launch(world, 4096), "");
    }
    world.barrier();
  });
}

TEST_P(GpuLocalMemory, MoreThanTheDriverGives) {
  ::setenv("ISOTOPE_LOCAL_MEMORY_BYTES", "100KiB", 1);
  fake_cuda::reset({.gpus = 1, .local_memory_max = 64 * 1024});
  if (!shared()) {
    run([](World& world) { world.barrier(); });
    return;
  }
  testing::run_to_a_bad_end(GetParam(), [] {
    const auto [code, text] = error_of([] { init(); });
    EXPECT_EQ(code, Code::invalid_argument) << text;
    EXPECT_NE(text.find("ISOTOPE_LOCAL_MEMORY_BYTES is 102400 and GPU 0 sets 65536 aside"), std::string::npos) << text;
  });
}

}  // namespace
}  // namespace isotope
