// Streams of a World: the user's own ones that it takes, and those whose last handle is gone.
#include <cstdlib>

#include "cuda/gpu.hpp"
#include "gpu_job.hpp"

namespace isotope {
namespace {

class GpuStreams : public testing::GpuJobTest {
 protected:
  /// A stream as the user's program makes one, on any GPU, and its end.
  struct Users {
    Users(int device, unsigned flags) : gpu(device) {
      const cuda::Current current(gpu.context());
      gpu.calls().cuStreamCreate(&stream, flags);
    }
    Users(int device, CUstream made) : gpu(device), stream(made) {}
    ~Users() { gpu.calls().cuStreamDestroy(stream); }
    Users(const Users&) = delete;
    Users& operator=(const Users&) = delete;
    cuda::Gpu gpu;
    CUstream stream = nullptr;
  };
  static void refused(World& world, void* stream, const std::vector<std::string>& parts) {
    try {
      world.wrap_stream(stream);
      ADD_FAILURE() << "it was taken";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_EQ(error.code(), Code::invalid_argument) << text;
      EXPECT_EQ(error.pe(), world.rank()) << text;
      for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
    }
  }
};
ISOTOPE_ALL_SHAPES(GpuStreams);

TEST_P(GpuStreams, DefaultStreamsAreRefused) {
  run([](World& world) {
    refused(world, nullptr, {"null", "waits for all others", "cudaStreamNonBlocking"});
    refused(world, CU_STREAM_LEGACY, {"cudaStreamLegacy", "waits for all others"});
    refused(world, CU_STREAM_PER_THREAD, {"another stream on each thread"});
  });
}

TEST_P(GpuStreams, OfTheOwnGpuAreTaken) {
  run([](World& world) {
    Users users(world.rank() % 8, CU_STREAM_NON_BLOCKING);
    {
      Stream wrapped = world.wrap_stream(users.stream);
      bool called = false;
      wrapped.call([&] { called = true; });
      world.wrap_stream(users.stream).synchronize();
      EXPECT_TRUE(called) << "the same stream twice is one";
    }
    world.barrier();
  });
}

TEST_P(GpuStreams, OfAnotherGpuAreRefused) {
  run([](World& world) {
    const int own = world.rank() % 8, other = (world.rank() + 3) % 8;
    Users users(other, CU_STREAM_NON_BLOCKING);
    refused(world, users.stream,
            {"belongs to GPU " + std::to_string(other), "on GPU " + std::to_string(own), "cudaSetDevice"});
    world.barrier();
  });
}

// cuStreamGetCtx gives that of a green context, too.
TEST_P(GpuStreams, OfAnotherContextAreRefused) {
  run([](World& world) {
    Users users(world.rank() % 8, fake_cuda::other_stream());
    refused(world, users.stream, {"a context of its own", "a green context counts as one", "cudaSetDevice"});
    world.barrier();
  });
}

// A driver of the kind that lets no capture go on when it is asked about its stream.
TEST_P(GpuStreams, UnderCaptureAreTaken) {
  fake_cuda::reset({.version = 12040});
  run([](World& world) {
    Users users(world.rank() % 8, CU_STREAM_NON_BLOCKING);
    fake_cuda::begin_capture(users.stream);
    Stream wrapped = world.wrap_stream(users.stream);
    wrapped.record();
    EXPECT_TRUE(fake_cuda::end_capture(users.stream));
    wrapped.synchronize();
    world.barrier();
  });
}

// A graph may run a function again that was made for one run.
TEST_P(GpuStreams, FunctionsAreNotCaptured) {
  run([](World& world) {
    Users users(world.rank() % 8, CU_STREAM_NON_BLOCKING);
    Stream wrapped = world.wrap_stream(users.stream);
    int runs = 0;
    fake_cuda::begin_capture(users.stream);
    const auto [code, text] = error_of([&] { wrapped.call([&runs] { ++runs; }); });
    EXPECT_EQ(code, Code::not_supported) << text;
    EXPECT_NE(text.find("Stream::call on a stream that is being captured"), std::string::npos) << text;
    EXPECT_TRUE(fake_cuda::end_capture(users.stream)) << "the capture goes on";
    wrapped.call([&runs] { ++runs; });
    wrapped.synchronize();
    EXPECT_EQ(runs, 1);
    world.barrier();
  });
}

// To wait for a stream that is being captured ends the capture, and would wait for nothing.
TEST_P(GpuStreams, UnderCaptureAreNotWaitedFor) {
  run([](World& world) {
    Users users(world.rank() % 8, CU_STREAM_NON_BLOCKING);
    Stream wrapped = world.wrap_stream(users.stream), other = world.create_stream();
    int runs = 0;
    other.call([&runs] { ++runs; });
    fake_cuda::begin_capture(users.stream);
    const auto [code, text] = error_of([&] { wrapped.synchronize(); });
    EXPECT_EQ(code, Code::not_supported) << text;
    EXPECT_NE(text.find("synchronize on a stream that is being captured"), std::string::npos) << text;
    world.synchronize();
    EXPECT_EQ(runs, 1) << "the other stream's";
    EXPECT_TRUE(fake_cuda::end_capture(users.stream)) << "the capture goes on";
    wrapped.synchronize();
    world.barrier();
  });
}

// A callback's failure is told once the capture has ended, by status as by synchronize.
TEST_P(GpuStreams, UnderCaptureTellLater) {
  run([](World& world) {
    Users users(world.rank() % 8, CU_STREAM_NON_BLOCKING);
    Stream wrapped = world.wrap_stream(users.stream);
    wrapped.call([] { throw std::runtime_error("of a callback"); });
    {
      const cuda::Current current(users.gpu.context());
      users.gpu.calls().cuStreamSynchronize(users.stream);
    }
    world.barrier();  // such a wait ends the captures of other threads
    fake_cuda::begin_capture(users.stream);
    EXPECT_EQ(world.status().code, Code::ok);
    EXPECT_NO_THROW(world.synchronize());
    EXPECT_TRUE(fake_cuda::end_capture(users.stream));
    EXPECT_EQ(world.status().code, Code::kernel_failed);
    EXPECT_EQ(error_of([&] { world.synchronize(); }).first, Code::kernel_failed);
    world.barrier();
  });
}

// What a thread does on the default stream would wait for the kernels of PEs that share its GPU.
TEST_P(GpuStreams, ThatWaitForTheDefaultStreamAreRefusedWherePesShareOne) {
  fake_cuda::reset({.gpus = GetParam().threads ? 1 : 8});
  run([threads = GetParam().threads](World& world) {
    Users users(threads ? 0 : world.rank(), CU_STREAM_DEFAULT);
    if (threads && world.size() > 1) {
      refused(world, users.stream, {"PEs that are threads share GPU 0", "cudaStreamNonBlocking"});
    } else {
      world.wrap_stream(users.stream).synchronize();
    }
    world.barrier();
  });
}

// What we ask the driver, and wait for, while the user's program captures a graph in global mode.
TEST_P(GpuStreams, QuestionsDisturbNoCapture) {
  run([](World& world) {
    Users users(world.rank() % 8, CU_STREAM_NON_BLOCKING);
    Stream wrapped = world.wrap_stream(users.stream);
    auto x = world.alloc<int>(100);
    world.barrier();
    fake_cuda::begin_capture(users.stream);
    world.barrier();
    EXPECT_EQ(world.status().code, Code::ok);
    EXPECT_FALSE(wrapped.idle()) << "nobody knows";
    {
      Stream side = world.create_stream();
      EXPECT_TRUE(side.idle());
      Event event = side.record();
      EXPECT_TRUE(event.finished());
      event.synchronize();
      side.synchronize();
    }
    world.create_stream();  // looks at what became of the last one
    OwnedTeam all = world.split_strided(world.team(), 0, 1, world.size());
    x.set(3, 5);
    EXPECT_EQ(x.get(3), 5);
    EXPECT_EQ(world.status().code, Code::ok);
    world.barrier();
    EXPECT_TRUE(fake_cuda::end_capture(users.stream));
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    users.gpu.calls().cuThreadExchangeStreamCaptureMode(&mode);
    EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL) << "the thread's own mode";
    world.barrier();
  });
}

TEST_P(GpuStreams, GoWithTheirLastHandle) {
  run([](World& world) {
    world.synchronize();
    const fake_cuda::Live before = live_on_all(world);
    for (int i = 0; i < 50; ++i) {
      Stream stream = world.create_stream();
      Stream copy = stream;
      stream = {};
      copy.call([] {});
    }
    world.create_stream();
    const fake_cuda::Live after = live_on_all(world);
    EXPECT_LE(after.streams, before.streams + 2 * world.size());
  });
}

// To destroy one may wait for the kernels of peers.
TEST_P(GpuStreams, OfTheWorldAreHandedOutAgain) {
  run([threads = GetParam().threads](World& world) {
    world.synchronize();
    world.barrier();
    const int made = fake_cuda::calls("cuStreamCreate"), gone = fake_cuda::calls("cuStreamDestroy");
    world.barrier();
    for (int i = 0; i < 50; ++i) {
      bool called = false;
      Stream stream = world.create_stream();
      stream.call([&] { called = true; });
      world.synchronize();
      EXPECT_TRUE(called) << "one of the World's";
    }
    world.barrier();
    EXPECT_EQ(fake_cuda::calls("cuStreamCreate"), made + (threads ? world.size() : 1));
    EXPECT_EQ(fake_cuda::calls("cuStreamDestroy"), gone);
    world.barrier();
  });
}

// By then it may have a kernel that waits for a peer.
TEST_P(GpuStreams, OfTheUserAreGivenBackWithoutAWait) {
  run([](World& world) {
    Users users(world.rank() % 8, CU_STREAM_NON_BLOCKING);
    world.wrap_stream(users.stream);
    bool waited = false;
    users.gpu.calls().cuLaunchHostFunc(users.stream, [](void* flag) { *static_cast<bool*>(flag) = true; }, &waited);
    world.create_stream();
    world.synchronize();
    EXPECT_FALSE(waited);
    world.barrier();
  });
}

// What it still had to tell is told by the World.
TEST_P(GpuStreams, AFailureOutlivesTheHandle) {
  run([](World& world) {
    {
      Stream stream = world.create_stream();
      stream.call([] { throw std::runtime_error("of a stream that is gone"); });
    }
    const auto [code, text] = error_of([&] { world.synchronize(); });
    EXPECT_EQ(code, Code::kernel_failed);
    EXPECT_NE(text.find("of a stream that is gone"), std::string::npos) << text;
    world.synchronize();
    world.barrier();
  });
}

class GpuStreamCount : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("ISOTOPE_PLATFORM", "cuda", 1);
    if (const char* text = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS")) before_ = text;
    ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "4", 1);
    fake_cuda::reset({.gpus = 1});
  }
  void TearDown() override {
    if (before_.empty()) {
      ::unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    } else {
      ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", before_.c_str(), 1);
    }
    EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{});
  }
  /// A World with that many, the one for copies among them.
  static std::string said_with(int streams) {
    ::testing::internal::CaptureStderr();
    {
      World world = init();
      std::vector<Stream> all{world.stream()};
      while (static_cast<int>(all.size()) + 1 < streams) all.push_back(world.create_stream());
    }
    return ::testing::internal::GetCapturedStderr();
  }
  std::string before_;
};

TEST_F(GpuStreamCount, MoreThanQueuesAreWarnedOfOnce) {
  EXPECT_EQ(said_with(4), "");
  const std::string said = said_with(7);
  EXPECT_NE(
      said.find("GPU 0 has 5 streams of this process, one for copies of each PE among them, and 4 hardware queues"),
      std::string::npos)
      << said;
  EXPECT_EQ(said.find("hardware queues"), said.rfind("hardware queues")) << said;
}

// Those of all its PEs that are on one GPU.
TEST_F(GpuStreamCount, ThreadsCountTogether) {
  const auto said_by = [](int pes) {
    ::testing::internal::CaptureStderr();
    run_threads(pes, [] {
      World world = init();
      world.stream();
      world.barrier();
    });
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said_by(2), "");
  const std::string said = said_by(3);
  EXPECT_NE(said.find("GPU 0 has 5 streams"), std::string::npos) << said;
}

TEST_F(GpuStreamCount, DroppedOnesCountNoMore) {
  ::testing::internal::CaptureStderr();
  {
    World world = init();
    for (int i = 0; i < 20; ++i) world.create_stream();
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// What was captured so far is the user's, whatever becomes of the World.
TEST_F(GpuStreamCount, TheWorldsEndDisturbsNoCapture) {
  const cuda::Gpu gpu(0);
  CUstream stream = nullptr;
  {
    const cuda::Current current(gpu.context());
    gpu.calls().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  }
  {
    World world = init();
    Stream wrapped = world.wrap_stream(stream);
    fake_cuda::begin_capture(stream);
  }
  EXPECT_TRUE(fake_cuda::end_capture(stream));
  gpu.calls().cuStreamDestroy(stream);
}

}  // namespace
}  // namespace isotope
