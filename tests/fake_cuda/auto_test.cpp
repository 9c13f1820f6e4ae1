// Left to itself, a job whose GPUs cannot be used runs on the CPU, all of it, and says why once.
#include <atomic>
#include <utility>
#include <vector>

#include "gpu_job.hpp"

namespace isotope {
namespace {

class GpuAuto : public testing::GpuJobTest {
 protected:
  void SetUp() override {
    GpuJobTest::SetUp();
    ::setenv("ISOTOPE_PLATFORM", "auto", 1);
    detail::note_gpu_code();  // as a file that nvcc compiled does
  }
  void TearDown() override {
    ::setenv("ISOTOPE_PLATFORM", "cuda", 1);
    GpuJobTest::TearDown();
  }

  /// What `body` says on standard error.
  template <class F>
  static std::string said_by(F&& body) {
    ::testing::internal::CaptureStderr();
    body();
    return ::testing::internal::GetCapturedStderr();
  }
  static int lines_with(const std::string& text, const std::string& part) {
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  }

  /// A World on the CPU that works.
  static void on_the_cpu(World& world) {
    EXPECT_FALSE(world.drives_gpu());
    auto x = world.alloc<int>(100);
    x[3] = world.rank();
    world.barrier();
    EXPECT_EQ(*world.team().at(&x[3], (world.rank() + 1) % world.size()), (world.rank() + 1) % world.size());
    OwnedTeam all = world.split_strided(world.team(), 0, 1, world.size());
    world.barrier(all.team());
    world.barrier();
  }
};
ISOTOPE_ALL_SHAPES(GpuAuto);

TEST_P(GpuAuto, TakesTheGpusWhereItCan) {
  const std::string said = said_by([&] { run([](World& world) { EXPECT_TRUE(world.drives_gpu()); }); });
  EXPECT_EQ(lines_with(said, "kernels run on the CPU"), 0) << said;
}

// No GPU can be used: the first round already knows.
TEST_P(GpuAuto, GpusThatCannotShareMemory) {
  fake_cuda::reset({.shares_memory = false});
  const std::string said = said_by([&] { run(&on_the_cpu); });
  EXPECT_EQ(lines_with(said, "kernels run on the CPU: PE 0: GPU 0 (Fake GPU 0) cannot share memory"), 1) << said;
}

// The memory is gone when it comes to the control words.
TEST_P(GpuAuto, GpusWithoutMemory) {
  fake_cuda::reset({.memory = 4 << 20});
  const std::string said = said_by([&] { run(&on_the_cpu); });
  EXPECT_EQ(lines_with(said, "kernels run on the CPU: "), 1) << said;
  EXPECT_EQ(lines_with(said, "bytes free and"), 1) << said;
}

TEST_P(GpuAuto, ExplicitCudaStaysAnError) {
  fake_cuda::reset({.memory = 4 << 20});
  ::setenv("ISOTOPE_PLATFORM", "cuda", 1);
  const auto pe_main = [] {
    const auto [code, text] = error_of([] { init(); });
    EXPECT_EQ(code, Code::out_of_heap) << text;
  };
  if (GetParam().threads) {
    run_threads(GetParam().pes, pe_main);
  } else {
    const JobResult result = run_processes({.pes = GetParam().pes}, [&] {
      pe_main();
      return ::testing::Test::HasFailure() ? 1 : 0;
    });
    EXPECT_EQ(result.exit_code, 0) << result.message;
  }
}

// The first is for copies.
constexpr int kOfDefaultStream = 2;

// Told to use GPUs, all fail alike, and name the one that did.
TEST_P(GpuAuto, OneThatFailsIsNamedByAll) {
  if (GetParam().threads) return;
  ::setenv("ISOTOPE_PLATFORM", "cuda", 1);
  const std::string last = std::to_string(GetParam().pes - 1);
  const JobResult result = run_processes({.pes = GetParam().pes, .timeout = std::chrono::seconds(60)}, [&] {
    if (std::getenv("ISOTOPE_RANK") == last) fake_cuda::fail("cuStreamCreate", kOfDefaultStream);
    const auto [code, text] = error_of([] { init(); });
    EXPECT_EQ(code, Code::system) << text;
    EXPECT_NE(text.find("init failed on PE " + last), std::string::npos) << text;
    EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{});
    return ::testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(result.exit_code, 0) << result.message;
}

// One PE alone has trouble, at each place where it can come: all go to the CPU.
TEST_P(GpuAuto, OneThatFailsTakesAllAlong) {
  if (GetParam().threads) return;  // see below
  const std::vector<std::pair<const char*, int>> all = {{"cuDevicePrimaryCtxRetain", 1},
                                                        {"cuStreamCreate", 1},
                                                        {"cuStreamCreate", kOfDefaultStream},
                                                        {"cuMemHostAlloc", 1},
                                                        {"cuMemHostRegister", 1},
                                                        {"cuMemHostGetDevicePointer", 1},
                                                        {"cuMemAddressReserve", 1},
                                                        {"cuMemCreate", 1},
                                                        {"cuMemExportToShareableHandle", 1},
                                                        {"cuMemMap", 1},
                                                        {"cuMemImportFromShareableHandle", 1}};
  for (const auto& [call, nth] : all) {
    if (GetParam().pes == 1 && call == std::string("cuMemImportFromShareableHandle")) continue;
    const std::string last = std::to_string(GetParam().pes - 1);
    const std::string said = said_by([&] {
      const JobResult result = run_processes({.pes = GetParam().pes, .timeout = std::chrono::seconds(60)}, [&] {
        if (std::getenv("ISOTOPE_RANK") == last) fake_cuda::fail(call, nth);
        {
          World world = init();
          on_the_cpu(world);
        }
        EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{}) << call;
        return ::testing::Test::HasFailure() ? 1 : 0;
      });
      EXPECT_EQ(result.exit_code, 0) << call << ": " << result.message;
    });
    EXPECT_EQ(lines_with(said, "kernels run on the CPU"), 1) << call << ": " << said;
  }
}

TEST_P(GpuAuto, OneThreadThatFailsTakesAllAlong) {
  if (!GetParam().threads) return;
  const std::vector<std::pair<const char*, int>> all = {
      {"cuDevicePrimaryCtxRetain", 1}, {"cuStreamCreate", 1}, {"cuStreamCreate", kOfDefaultStream},
      {"cuMemHostAlloc", 1},           {"cuMemCreate", 1},    {"cuMemMap", 1}};
  for (const auto& [call, nth] : all) {
    std::atomic<int> came{0};
    const std::string said = said_by([&] {
      run_threads(GetParam().pes, [&] {
        if (came.fetch_add(1) == 0) fake_cuda::fail(call, nth);
        World world = init();
        on_the_cpu(world);
      });
    });
    EXPECT_EQ(lines_with(said, "kernels run on the CPU"), 1) << call << ": " << said;
    EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{}) << call;
  }
}

// One that is told to use the CPU decides for those that are told nothing; against one that is told cuda it is an
// error.
TEST_P(GpuAuto, OrdersCountMoreThanChoices) {
  if (GetParam().threads || GetParam().pes == 1) return;
  for (const char* others : {"auto", "cuda"}) {
    const std::string said = said_by([&] {
      const JobResult result = run_processes({.pes = GetParam().pes, .timeout = std::chrono::seconds(60)}, [&] {
        ::setenv("ISOTOPE_PLATFORM", std::getenv("ISOTOPE_RANK") == std::string("1") ? "cpu" : others, 1);
        const auto [code, text] = error_of([] {
          World world = init();
          on_the_cpu(world);
        });
        const bool orders = others == std::string("cuda");
        EXPECT_EQ(code, orders ? Code::refused : Code::ok) << text;
        return ::testing::Test::HasFailure() ? 1 : orders ? 7 : 0;  // a job without a World has not ended well
      });
      EXPECT_EQ(result.exit_code, others == std::string("cuda") ? 7 : 0) << others << ": " << result.message;
    });
    EXPECT_EQ(lines_with(said, "kernels run on the CPU: PE 1: its ISOTOPE_PLATFORM is cpu"),
              others == std::string("auto") ? 1 : 0)
        << said;
  }
}

}  // namespace
}  // namespace isotope
