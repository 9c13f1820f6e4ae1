// How things end: what is current on the thread stays so, and handles may outlive their World.
#include <atomic>
#include <thread>

#include "cuda/gpu.hpp"
#include "gpu_job.hpp"
#include "isotope/isotope.h"

namespace isotope {
namespace {

class GpuEnd : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("ISOTOPE_PLATFORM", "cuda", 1);
    fake_cuda::reset({.gpus = 2});
  }
  void TearDown() override {
    set_current(nullptr);
    EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{});
  }
  static CUcontext current() {
    CUcontext context = nullptr;
    cuda::driver().cuCtxGetCurrent(&context);
    return context;
  }
  static void set_current(CUcontext context) { cuda::driver().cuCtxSetCurrent(context); }
};

TEST_F(GpuEnd, TheUsersContextStaysCurrent) {
  set_current(fake_cuda::other_context());
  {
    World world = init();
    EXPECT_EQ(current(), fake_cuda::other_context()) << "init";
    auto x = world.alloc<int>(100);
    auto* mine = static_cast<char*>(isotope_gpu_alloc(100, 0, nullptr));
    {
      auto y = world.register_memory(Span<char>(mine, 100));
      world.free(y);
      EXPECT_EQ(current(), fake_cuda::other_context()) << "unmapping";
    }
    isotope_gpu_free(mine, 100, 0, nullptr);
    EXPECT_EQ(current(), fake_cuda::other_context()) << "isotope_gpu_free";
    {
      Stream side = world.create_stream();
      side.record();
    }
    EXPECT_EQ(current(), fake_cuda::other_context()) << "a stream";
    EXPECT_THROW(world.alloc<char>(std::size_t{1} << 40), Error);
  }
  EXPECT_EQ(current(), fake_cuda::other_context()) << "the World's end";
}

// The thread that ends a World may never have used CUDA: it gets no context that is about to go.
TEST_F(GpuEnd, AThreadWithoutAContextStaysWithout) {
  auto world = std::make_unique<World>(init());
  Stream side = world->create_stream();
  std::thread([&] {
    world.reset();
    EXPECT_EQ(current(), nullptr);
  }).join();
  set_current(nullptr);
  side = {};
  EXPECT_EQ(current(), nullptr);
}

TEST_F(GpuEnd, AThreadThatAsksStaysAsItWas) {
  World world = init();
  Stream side = world.create_stream();
  Event event = side.record();
  std::thread([&] {
    EXPECT_EQ(world.status().code, Code::ok);
    EXPECT_EQ(current(), nullptr) << "status";
    EXPECT_TRUE(side.idle());
    EXPECT_EQ(current(), nullptr) << "idle";
    EXPECT_TRUE(event.finished());
    EXPECT_EQ(current(), nullptr) << "finished";
  }).join();
}

TEST_F(GpuEnd, StreamsAndEventsOutliveTheWorld) {
  Stream side;
  Event event;
  {
    World world = init();
    side = world.create_stream();
    event = side.record();
  }
  EXPECT_THROW(side.record(), Error);
  EXPECT_THROW(side.synchronize(), Error);
  EXPECT_THROW(side.call([] {}), Error);
  EXPECT_TRUE(event.finished());
  event.synchronize();
}

// Threads use a stream, each through a handle of its own, while the World goes. Every call works or throws; the fake
// driver refuses a stream that was destroyed, and a call that it refuses would be an Error(system).
TEST_F(GpuEnd, StreamsInUseWhileTheWorldGoes) {
  for (int round = 0; round < 200; ++round) {
    auto world = std::make_unique<World>(init());
    Stream side = world->create_stream();
    std::atomic<bool> started{false};
    std::vector<std::string> wrong(2);
    std::vector<std::thread> users;
    for (std::string& what : wrong) {
      users.emplace_back([&what, &started, mine = side] {
        try {
          for (;;) {
            Event event = mine.record();
            mine.wait(event);
            mine.call([] {});
            mine.synchronize();
            started = true;
          }
        } catch (const Error& error) {
          if (error.code() != Code::not_initialized) what = error.what();
        }
      });
    }
    while (!started) std::this_thread::yield();
    world.reset();
    side = {};
    for (std::thread& user : users) user.join();
    for (const std::string& what : wrong) ASSERT_EQ(what, "");
  }
}

// A callback that asks its own stream something while the World waits for it.
TEST_F(GpuEnd, ACallbackMayAskWhileTheWorldGoes) {
  auto world = std::make_unique<World>(init());
  Stream side = world->create_stream();
  bool called = false;
  side.call([side, &called] {
    EXPECT_THROW(side.record(), Error);
    called = true;
  });
  world.reset();
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace isotope
