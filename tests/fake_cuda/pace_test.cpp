// Queues of PEs that are threads and share a GPU: one launch under way. The launch itself is the test's own.
#include "cuda/queue.hpp"
#include "exec/event.hpp"
#include "gpu_job.hpp"

namespace isotope::cuda {
namespace {

class GpuPace : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_cuda::reset({.gpus = 1});
    gpu_ = std::make_shared<Gpu>(0);
    launches = 0;
  }
  void TearDown() override {
    gpu_.reset();
    driver().cuCtxSetCurrent(nullptr);
    EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{});
  }
  static void launch(GpuQueue& queue) {
    static constexpr detail::GpuCalls kCalls{
        [](const void*, const detail::GpuLaunch&, void**) { return ++launches, 0; }, nullptr, nullptr};
    queue.launch_gpu({&launches, &kCalls, 1024}, {}, nullptr);
  }
  /// Questions about events that `call` asks the driver.
  template <class F>
  static int asked_by(F&& call) {
    const int before = fake_cuda::calls("cuEventQuery");
    call();
    return fake_cuda::calls("cuEventQuery") - before;
  }

  std::shared_ptr<const Gpu> gpu_;
  static inline int launches = 0;
};

TEST_F(GpuPace, ALaunchWaitsUntilTheLastOneIsOver) {
  GpuQueue queue(gpu_, {}, nullptr, true);
  EXPECT_EQ(asked_by([&] { launch(queue); }), 0) << "there is none before the first";
  fake_cuda::fail("cuEventQuery", 1, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(asked_by([&] { launch(queue); }), 2) << "not over, then over";
  EXPECT_EQ(asked_by([&] { launch(queue); }), 1);
  EXPECT_EQ(launches, 3);
}

TEST_F(GpuPace, WaitingDisturbsNobodysCapture) {
  GpuQueue queue(gpu_, {}, nullptr, true);
  CUstream captured = nullptr;
  {
    const Current current(gpu_->context());
    gpu_->calls().cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING);
  }
  launch(queue);
  const auto event = queue.record();
  fake_cuda::begin_capture(captured);
  launch(queue);
  event->synchronize();
  EXPECT_TRUE(fake_cuda::end_capture(captured));
  gpu_->calls().cuStreamDestroy(captured);
}

TEST_F(GpuPace, OtherQueuesWaitForNothing) {
  GpuQueue queue(gpu_, {});
  EXPECT_EQ(asked_by([&] { launch(queue), launch(queue); }), 0);
  EXPECT_EQ(launches, 2);
}

// There the driver answers nothing, for ever.
TEST_F(GpuPace, InsideACallbackItIsAnErrorAndNotAWait) {
  GpuQueue queue(gpu_, {}, nullptr, true);
  launch(queue);
  fake_cuda::fail("cuEventQuery", 1, CUDA_ERROR_NOT_PERMITTED);
  try {
    launch(queue);
    ADD_FAILURE() << "it was launched";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument) << error.what();
    EXPECT_NE(std::string(error.what()).find("host callback"), std::string::npos) << error.what();
  }
  EXPECT_EQ(launches, 1);
  launch(queue);
  EXPECT_EQ(launches, 2);
}

}  // namespace
}  // namespace isotope::cuda
