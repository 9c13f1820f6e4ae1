// A GPU that is lost to its process, as after a kernel with a bad address: said by every call, told to the others.
#include <thread>

#include "cuda/errors.hpp"
#include "cuda/queue.hpp"
#include "fake_runtime.hpp"
#include "gpu_job.hpp"

namespace isotope {
namespace {

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class GpuLoss : public testing::GpuJobTest {
 protected:
  /// The last PE's GPU is lost, and what it does next throws; the others wait for it and are told.
  void next_throws(const std::function<void(World&)>& next) {
    testing::run_to_a_bad_end(GetParam(), [&] {
      World world = init();
      world.barrier();
      const bool victim = world.rank() == world.size() - 1;
      if (victim) fake_cuda::lose_gpu(CUDA_ERROR_ILLEGAL_ADDRESS);
      const auto [code, text] = error_of([&] {
        if (victim) return next(world);
        for (;;) world.barrier();
      });
      EXPECT_EQ(code, Code::kernel_failed) << text;
      EXPECT_TRUE(says(text, "can use the GPU no more")) << text;
      EXPECT_EQ(world.status().peer, world.size() - 1);
      EXPECT_TRUE(victim || says(text, "PE " + std::to_string(world.size() - 1) + " lost its GPU")) << text;
    });
  }
};
ISOTOPE_ALL_SHAPES(GpuLoss);

// The runtime answers a question about the kernel with what became of another one.
TEST_P(GpuLoss, IsFoundByALaunchOfAKernelNobodyAskedAbout) {
  static constexpr detail::GpuCalls kCalls{
      [](const void*, const detail::GpuLaunch&, void**) { return 0; },
      [](const void*, const detail::GpuLaunch&, int*) { return 700; },
      [](int) { return "the runtime's words"; },
  };
  next_throws([](World& world) { launch_as_compiled(world, {.grid = 1, .block = 32}, {&kCalls, &kCalls, 1024}); });
}

TEST_P(GpuLoss, IsFoundByANewStream) {
  next_throws([](World& world) { world.create_stream(); });
}

// Whoever uses it loses it, whoever's kernel it was.
TEST_P(GpuLoss, OfASharedGpuIsNobodysFault) {
  if (GetParam().pes == 1) return;
  fake_cuda::reset({.gpus = 1});
  ::setenv("ISOTOPE_ALLOW_TIME_SLICING", "1", 1);
  testing::run_to_a_bad_end(GetParam(), [] {
    World world = init();
    world.barrier();
    const bool finder = world.rank() == 0;
    if (finder) fake_cuda::lose_gpu(CUDA_ERROR_ILLEGAL_ADDRESS);
    try {
      while (!finder) world.barrier();
      world.synchronize();
      ADD_FAILURE() << "all is well";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kernel_failed) << error.what();
      EXPECT_EQ(error.pe(), world.rank()) << error.what();
      EXPECT_EQ(error.peer(), Error::kNobody) << error.what();
    }
    const Status status = world.status();
    EXPECT_TRUE(says(status.message, "PE 0 found its GPU lost")) << status.message;
    EXPECT_EQ(status.peer, Error::kNobody);
  });
  ::unsetenv("ISOTOPE_ALLOW_TIME_SLICING");
}

TEST_P(GpuLoss, IsSeenByStatusAndToldToAll) {
  testing::run_to_a_bad_end(GetParam(), [] {
    World world = init();
    world.barrier();
    const bool victim = world.rank() == world.size() - 1;
    const auto began = std::chrono::steady_clock::now();
    if (victim) {
      EXPECT_EQ(world.status().code, Code::ok);
      fake_cuda::lose_gpu(CUDA_ERROR_ILLEGAL_ADDRESS);  // of PEs that are threads all have it
      const Status status = world.status();
      EXPECT_EQ(status.code, Code::kernel_failed) << status.message;
      EXPECT_TRUE(says(status.message, "a kernel on GPU") && says(status.message, "(CUDA_ERROR")) << status.message;
      for (int again = 0; again < 2; ++again) {
        const auto [code, text] = error_of([&] { world.synchronize(); });
        EXPECT_EQ(code, Code::kernel_failed) << text;
        EXPECT_TRUE(says(text, "can use the GPU no more")) << text;
      }
    } else {
      const auto [code, text] = error_of([&] {
        for (;;) world.barrier();
      });
      EXPECT_EQ(code, Code::kernel_failed) << text;
      EXPECT_TRUE(says(text, "PE " + std::to_string(world.size() - 1) + " lost its GPU")) << text;
      EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
    }
  });
}

class GpuStatus : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("ISOTOPE_PLATFORM", "cuda", 1);
    fake_cuda::reset({.gpus = 1});
  }
  void TearDown() override { EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{}); }

  static void callback_fails(const Stream& stream) {
    stream.call([] { throw std::runtime_error("of a callback"); });
    fake_cuda::run_callbacks();
  }
  /// status() says what synchronize() throws next, and that is this.
  static void agree(World& world, const std::string& part) {
    const Status status = world.status();
    EXPECT_EQ(world.status().message, status.message);
    EXPECT_TRUE(says(status.message, part)) << part << " in " << status.message;
    try {
      world.synchronize();
      EXPECT_EQ(part, "");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), status.code);
      EXPECT_EQ(error.peer(), status.peer);
      // A loss that is news stands behind what comes first.
      EXPECT_EQ(std::string(error.what()).find(status.message), 0u) << error.what() << "\nbut\n" << status.message;
    }
  }
};

TEST_F(GpuStatus, ACallbackThenTheJobsEnd) {
  World world = init();
  callback_fails(world.stream());
  world.abort("enough");
  agree(world, "of a callback");
  agree(world, "enough");
}

TEST_F(GpuStatus, TheJobsEndThenACallbackOfAnotherStream) {
  World world = init();
  Stream side = world.create_stream();
  callback_fails(side);
  world.abort("enough");
  agree(world, "enough");
}

TEST_F(GpuStatus, TheJobsEndThenALoss) {
  World world = init();
  world.abort("enough");
  fake_cuda::lose_gpu(CUDA_ERROR_ILLEGAL_ADDRESS);
  agree(world, "enough");
  agree(world, "enough");
}

TEST_F(GpuStatus, ACallbackThenALoss) {
  World world = init();
  callback_fails(world.stream());
  fake_cuda::lose_gpu(CUDA_ERROR_ILLEGAL_ADDRESS);
  agree(world, "of a callback");
  agree(world, "can use the GPU no more");
  agree(world, "can use the GPU no more");
}

TEST_F(GpuStatus, ALossAlone) {
  World world = init();
  agree(world, "");
  fake_cuda::lose_gpu(CUDA_ERROR_ILLEGAL_ADDRESS);
  agree(world, "PE 0 lost its GPU");
  agree(world, "PE 0 lost its GPU");
}

TEST_F(GpuStatus, ThatCannotBeAskedIsNoError) {
  World world = init();
  Stream side = world.create_stream();
  Event event = side.record();
  fake_cuda::fail("cuCtxGetCurrent", 1);
  EXPECT_EQ(world.status().code, Code::ok);
  fake_cuda::fail("cuCtxGetCurrent", 1);
  EXPECT_FALSE(side.idle());
  fake_cuda::fail("cuCtxGetCurrent", 1);
  EXPECT_FALSE(event.finished());
}

}  // namespace

namespace cuda {
namespace {

class GpuQueueLoss : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_cuda::reset({.gpus = 1});
    gpu_ = std::make_shared<Gpu>(0);
  }
  void TearDown() override {
    gpu_.reset();
    driver().cuCtxSetCurrent(nullptr);
    EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{});
  }
  static std::pair<Code, std::string> thrown_by(GpuQueue& queue) {
    try {
      queue.synchronize();
    } catch (const Error& error) {
      return {error.code(), error.what()};
    }
    return {Code::ok, ""};
  }
  GpuQueue::LossReport counted() {
    return [this](const std::string&) { ++told_; };
  }

  std::shared_ptr<const Gpu> gpu_;
  int told_ = 0;
};

// What ended the job names who is to blame; that the GPU is gone too is said once.
TEST_F(GpuQueueLoss, IsToldBesideWhatEndedTheJob) {
  const auto ended = [] { return std::make_exception_ptr(Error(Code::peer_lost, "PE 3 is dead", 0, 3)); };
  GpuQueue queue(gpu_, ended, nullptr, false, counted());
  fake_cuda::lose_gpu(CUDA_ERROR_LAUNCH_FAILED);
  auto [code, text] = thrown_by(queue);
  EXPECT_EQ(code, Code::peer_lost);
  EXPECT_TRUE(says(text, "PE 3 is dead") && says(text, "a kernel on GPU 0 failed")) << text;
  std::tie(code, text) = thrown_by(queue);
  EXPECT_EQ(code, Code::peer_lost);
  EXPECT_EQ(text, "PE 3 is dead");
  EXPECT_EQ(told_, 1);
}

TEST_F(GpuQueueLoss, IsPendingUntilItIsAsked) {
  GpuQueue queue(gpu_, {}, nullptr, false, counted());
  EXPECT_EQ(queue.pending_failure(), nullptr);
  fake_cuda::lose_gpu(CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(queue.pending_failure(), nullptr);
  EXPECT_NE(queue.pending_failure(), nullptr);
  EXPECT_EQ(told_, 1);
  EXPECT_EQ(thrown_by(queue).first, Code::kernel_failed);
}

// The runtime says at a launch what became of a kernel before.
TEST_F(GpuQueueLoss, IsFoundByTheNextLaunch) {
  static constexpr detail::GpuCalls kCalls{[](const void*, const detail::GpuLaunch&, void**) { return 700; }, nullptr,
                                           [](int) { return "the runtime's words"; }};
  GpuQueue queue(gpu_, {}, nullptr, false, counted());
  fake_cuda::lose_gpu(CUDA_ERROR_ILLEGAL_ADDRESS);
  try {
    queue.launch_gpu({&kCalls, &kCalls, 1024}, {}, nullptr);
    ADD_FAILURE() << "it was launched";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kernel_failed);
    EXPECT_TRUE(says(error.what(), "can use the GPU no more")) << error.what();
  }
  EXPECT_EQ(told_, 1);
}

TEST_F(GpuQueueLoss, ErrorsOfOneCallAreNone) {
  for (const CUresult one : {CUDA_SUCCESS, CUDA_ERROR_NOT_READY, CUDA_ERROR_NOT_PERMITTED, CUDA_ERROR_OUT_OF_MEMORY,
                             CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                             CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD}) {
    EXPECT_FALSE(loses_gpu(one)) << one;
  }
  for (const CUresult one : {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_ECC_UNCORRECTABLE,
                             CUDA_ERROR_MPS_CLIENT_TERMINATED, CUDA_ERROR_MPS_RPC_FAILURE, CUDA_ERROR_UNKNOWN,
                             CUDA_ERROR_NVLINK_UNCORRECTABLE, CUDA_ERROR_CONTEXT_IS_DESTROYED}) {
    EXPECT_TRUE(loses_gpu(one)) << one;
  }
  GpuQueue queue(gpu_, {}, nullptr, false, counted());
  fake_cuda::fail("cuStreamSynchronize", 1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(thrown_by(queue).first, Code::kernel_failed);
  EXPECT_EQ(told_, 0);
  EXPECT_EQ(thrown_by(queue).first, Code::ok);
}

}  // namespace
}  // namespace cuda
}  // namespace isotope
