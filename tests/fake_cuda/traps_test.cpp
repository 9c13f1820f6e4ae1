// What can wait for ever (docs/gpu.md): while a peer's kernel waits on the GPU for this PE, nothing in the library may
// call what waits for all kernels of the GPU. The fake driver notes such calls from the moment that the peer is said to
// wait. Traps with tests of their own: modules (lazy_modules_test), local memory (local_memory_test), launches behind
// ones that wait for each other (pace_test), streams that share a queue (user_stream_test).
#include <cctype>
#include <string>
#include <vector>

#include "cuda/gpu.hpp"
#include "fake_runtime.hpp"
#include "gpu_job.hpp"
#include "isotope/host/collectives.hpp"
#include "isotope/host/on_stream.hpp"
#include "isotope/isotope.h"

namespace isotope {
namespace {

constexpr detail::GpuCalls kAnyKernel{
    [](const void*, const detail::GpuLaunch&, void**) { return 0; },
    [](const void*, const detail::GpuLaunch&, int* blocks) { return *blocks = 4, 0; },
    [](int) { return "the runtime's words"; },
    [](const void*, const detail::GpuLaunch&, int* clusters) { return *clusters = 4, 0; },
    [](const void*, int* version) { return *version = 90, 0; },
    [](const void*, std::size_t* bytes) { return *bytes = 0, 0; },
};

}  // namespace

// Kernels of on_stream and of collectives, which all take a Team first, as a compiler for GPUs would hand them over.
// Here g++ compiles them, and nothing launches them.
template <class... P>
struct detail::KernelTraits<void (*)(Team, P...)> {
  using Arguments = std::tuple<Team, std::remove_cv_t<P>...>;
  static constexpr bool by_value = true;
  template <auto Kernel, int MaxThreads, bool Gpu>
  static GpuKernel on_gpu() {
    static char entry;
    return {&entry, &kAnyKernel, MaxThreads};
  }
};

namespace {

constexpr std::size_t kGranule = std::size_t{2} << 20;

class GpuTraps : public testing::GpuJobTest {
 protected:
  void SetUp() override {
    GpuJobTest::SetUp();
    ::setenv("ISOTOPE_ALLOW_TIME_SLICING", "1", 1);  // processes share the GPU, too
    fake_cuda::reset({.gpus = 1, .memory = std::uint64_t{16} << 30});
  }
  void TearDown() override {
    ::unsetenv("ISOTOPE_ALLOW_TIME_SLICING");
    GpuJobTest::TearDown();
  }

  /// Runs `body` on every PE while a kernel of a peer waits on its GPU, and expects that nothing waits for that one.
  void while_a_peer_spins(const std::function<void(World&)>& body) {
    run([&](World& world) {
      world.barrier();
      fake_cuda::peer_spins();
      world.barrier();
      body(world);
      world.barrier();
      EXPECT_EQ(fake_cuda::calls_that_wait(), std::vector<std::string>{});
      world.barrier();
      fake_cuda::peer_ends();
      world.barrier();
    });
  }
};
ISOTOPE_ALL_SHAPES(GpuTraps);

// The others would prove nothing otherwise.
TEST_P(GpuTraps, CallsThatWaitAreSeen) {
  run([](World& world) {
    world.barrier();
    if (world.rank() == 0) {
      fake_cuda::peer_spins();
      const cuda::Gpu gpu(0);
      {
        const cuda::PinnedMemory pinned(gpu, 64);
      }
      const cuda::Current current(gpu.context());
      gpu.calls().cuMemsetD8Async(0, 0, 0, nullptr);
      gpu.calls().cuStreamSynchronize(nullptr);
      fake_cuda::peer_ends();
      {
        const cuda::PinnedMemory pinned(gpu, 64);
      }
      EXPECT_EQ(fake_cuda::calls_that_wait(),
                (std::vector<std::string>{"cuMemHostAlloc", "cuMemFreeHost", "cuMemsetD8Async on the default stream",
                                          "cuStreamSynchronize on the default stream"}));
    }
    world.barrier();
  });
}

TEST_P(GpuTraps, TheHeapGrows) {
  while_a_peer_spins([](World& world) {
    const int before = fake_cuda::live().mappings;
    auto x = world.alloc<char>(std::size_t{70} << 20);  // past the first piece of 64 MiB
    auto y = world.alloc_zeroed<char>(std::size_t{70} << 20);
    EXPECT_GT(fake_cuda::live().mappings, before) << "it was to grow";
    y.set(0, 1);
  });
}

TEST_P(GpuTraps, MemoryIsFreedAndTakenAgain) {
  while_a_peer_spins([](World& world) {
    for (int round = 0; round < 3; ++round) {
      auto x = world.alloc<char>(std::size_t{70} << 20);
      auto y = world.alloc<int>(1000);
      world.free(x);
      y = {};  // by its destructor
      auto z = world.alloc_zeroed<char>(std::size_t{40} << 20);
      world.free(z);
    }
  });
}

TEST_P(GpuTraps, TeamsAreSplit) {
  while_a_peer_spins([](World& world) {
    const OwnedTeam half = world.split_strided(world.team(), 0, 2, (world.size() + 1) / 2);
    std::vector<int> backwards;
    for (int pe = world.size(); pe-- > 0;) backwards.push_back(pe);
    const OwnedTeam list = world.split_list(world.team(), backwards);
    const Teams2d grid = world.split_2d(world.team(), 2);
    if (half) world.barrier(half.team());
    world.barrier(list.team());
  });
}

TEST_P(GpuTraps, StreamsComeAndGo) {
  while_a_peer_spins([](World& world) {
    const int before = fake_cuda::calls("cuStreamDestroy");
    for (int round = 0; round < 3; ++round) {
      Stream one = world.create_stream(), two = world.create_stream();
      Event event = one.record();
      two.wait(event);
      two.call([] {});
      two.synchronize();
      EXPECT_TRUE(event.finished());
    }
    Stream last = world.create_stream();  // the World looks for streams that nobody has any more
    world.barrier();
    EXPECT_EQ(fake_cuda::calls("cuStreamDestroy"), before) << "they are handed out again";
  });
}

TEST_P(GpuTraps, MemoryIsRegistered) {
  while_a_peer_spins([](World& world) {
    const cuda::Gpu gpu(0);
    CUstream users = nullptr;
    {
      const cuda::Current current(gpu.context());
      gpu.calls().cuStreamCreate(&users, CU_STREAM_NON_BLOCKING);
    }
    auto* mine = static_cast<char*>(isotope_gpu_alloc(2 * kGranule, 0, users));
    for (int round = 0; round < 2; ++round) {
      auto x = world.register_memory(Span<char>(mine, 2 * kGranule));
      x.set(1, 2);
      if (round == 0) world.free(x);
    }
    isotope_gpu_free(mine, 2 * kGranule, 0, users);
    gpu.calls().cuStreamDestroy(users);
  });
}

TEST_P(GpuTraps, HostCodeReadsAndWrites) {
  while_a_peer_spins([](World& world) {
    auto x = world.alloc<int>(1000);
    x.write(std::vector<int>(1000, world.rank()));
    world.barrier();
    EXPECT_EQ(x.read()[999], world.rank());
    const int next = (world.rank() + 1) % world.size();
    EXPECT_EQ(x.read_from(world.team(), next)[7], next);
    x.set(3, 5);
    EXPECT_EQ(x.get(3), 5);
    world.barrier();
  });
}

TEST_P(GpuTraps, KernelsAreLaunched) {
  while_a_peer_spins([](World& world) {
    Stream stream = world.create_stream();
    const detail::GpuKernel kernel{&world, &kAnyKernel, 1024};
    for (const bool resident : {true, false}) {
      for (const bool programmatic : {true, false}) {
        for (int round = 0; round < 2; ++round) {
          launch_as_compiled(
              world, {.grid = 4, .block = 64, .stream = stream, .resident = resident, .programmatic = programmatic},
              kernel);
        }
      }
    }
    launch_as_compiled(world, {.grid = 4, .block = 64}, kernel);
    EXPECT_TRUE(fits_as_compiled(world, {.grid = 4, .block = 64}, kernel));
    world.synchronize();
    EXPECT_EQ(world.status().code, Code::ok);
  });
}

TEST_P(GpuTraps, CallsGoOnStreams) {
  while_a_peer_spins([](World& world) {
    auto x = world.alloc<int>(5000), y = world.alloc<int>(5000);
    auto flag = world.alloc_zeroed<Signal>(1);
    Stream own = world.create_stream();
    const Team team = world.team();
    const int next = (world.rank() + 1) % world.size();
    for (const Stream& stream : {own, Stream()}) {
      on_stream::put(world, stream, team, x.data(), y.data(), x.size(), next);
      on_stream::get(world, stream, team, y.data(), x.data(), x.size(), next);
      on_stream::signal(world, stream, team, flag.data(), 1, SignalOp::add, next);
      on_stream::wait(world, stream, team, flag.data(), Cmp::ge, 1);
      on_stream::barrier(world, stream, team);
      on_stream::sync(world, stream, team);
      on_stream::quiet(world, stream, team);
    }
    world.synchronize();
  });
}

TEST_P(GpuTraps, CollectivesAreMadeAndCalled) {
  while_a_peer_spins([](World& world) {
    auto x = world.alloc<int>(4096), y = world.alloc<int>(4096 * static_cast<std::size_t>(world.size()));
    Collectives all(world);
    all.broadcast<int, true>(y.data(), x.data(), 4096, 0);
    all.all_gather<int, true>(y.data(), x.data(), 4096);
    all.all_to_all<int, true>(y.data(), x.data(), 4096 / static_cast<std::size_t>(world.size()));
    Stream stream = world.create_stream();
    all.enqueue_typed<Collective::broadcast, int, true>(
        stream, detail::moving<int>(Collective::broadcast, Algo::automatic, y.data(), x.data(), 4096, 0), {},
        CallSite::current());
    all.recover();
    world.synchronize();
  });
}

// What is not in the table of the driver's calls the library cannot call.
TEST(GpuTrap, NoCallOfTheDriverWaitsForTheWholeDevice) {
  const std::vector<std::string> called = {
#define X(name) #name,
#include "cuda/calls.def"
#include "cuda/newer_calls.def"
#undef X
  };
  EXPECT_GT(called.size(), 50u);
  // Beginnings: of cuMemcpy and cuMemset only those go that take a stream.
  for (const char* waits :
       {"cuCtxSynchronize", "cuCtxCreate", "cuCtxDestroy", "cuDevicePrimaryCtxReset", "cuMemAlloc", "cuMemFree",
        "cuModuleLoad", "cuModuleUnload", "cuModuleGetFunction", "cuLibrary", "cuLink", "cuKernel", "cuLaunchKernel",
        "cuCtxEnablePeerAccess", "cuArray", "cuMipmapped", "cuGraph", "cuCtxSetCacheConfig", "cuCtxSetSharedMem"}) {
    for (const std::string& name : called) {
      if (name == "cuMemFreeHost") continue;  // counted above
      EXPECT_FALSE(name.starts_with(waits)) << name;
    }
  }
  for (const std::string& name : called) {
    if (name.starts_with("cuMemcpy") || name.starts_with("cuMemset")) {
      EXPECT_TRUE(name.ends_with("Async")) << name;
    }
  }
}

}  // namespace
}  // namespace isotope
