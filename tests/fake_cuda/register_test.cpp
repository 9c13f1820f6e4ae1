// Memory of a GPU that the user owns, registered where it lies.
#include "gpu_job.hpp"
#include "isotope/isotope.h"
#include "segment.hpp"

namespace isotope {
namespace {

constexpr std::size_t kGranule = std::size_t{2} << 20;

using fake_cuda::Segment;

class GpuRegister : public testing::GpuJobTest {
 protected:
  /// The memory that the PE allocates lies on the GPU that it drives.
  static int gpu_of(const World& world) { return world.rank() % 8; }
  static std::pair<Code, std::string> refusal(World& world, void* data, std::size_t bytes) {
    return error_of([&] { (void)world.register_memory(Span<char>(static_cast<char*>(data), bytes)); });
  }
  /// All PEs write through the addresses that they know from their users, and read each other's through the Symmetric.
  static void same_bytes(World& world, char* mine, const Symmetric<char>& x) {
    for (std::size_t i = 0; i < x.size(); i += 4093)
      mine[i] = static_cast<char>(world.rank() * 31 + static_cast<int>(i % 7));
    world.barrier();
    for (int pe = 0; pe < world.size(); ++pe) {
      const std::vector<char> theirs = x.read_from(world.team(), pe);
      for (std::size_t i = 0; i < x.size(); i += 4093)
        ASSERT_EQ(theirs[i], static_cast<char>(pe * 31 + static_cast<int>(i % 7)));
    }
    world.barrier();
    x.set(0, static_cast<char>(world.rank() + 90));
    EXPECT_EQ(mine[0], world.rank() + 90) << "the user's address and the Symmetric name different bytes";
    world.barrier();
  }
};
ISOTOPE_ALL_SHAPES(GpuRegister);

TEST_P(GpuRegister, MemoryOfOurAllocator) {
  run([](World& world) {
    const auto before = live_on_all(world);
    auto* mine = static_cast<char*>(isotope_gpu_alloc(5 << 20, gpu_of(world), nullptr));
    ASSERT_NE(mine, nullptr);
    for (int round = 0; round < 3; ++round) {
      auto x = world.register_memory(Span<char>(mine, 5 << 20));
      EXPECT_THROW(x[0] = 1, Error) << "it is the GPU's";
      same_bytes(world, mine, x);
      world.free(x);
    }
    isotope_gpu_free(mine, 5 << 20, gpu_of(world), nullptr);
    EXPECT_EQ(live_on_all(world), before);
  });
}

TEST_P(GpuRegister, PartsAndSpansOfAllocations) {
  run([](World& world) {
    const auto before = live_on_all(world);
    {
      // The range begins in another allocation on every PE, and at another place of it, but alike within a granule.
      const std::size_t first = (static_cast<std::size_t>(world.rank()) % 3 + 1) * kGranule;
      const Segment segment(gpu_of(world), {first, 2 * kGranule, kGranule, 4 * kGranule});
      const std::size_t begin = first - kGranule + 4096, bytes = 3 * kGranule + 100;
      auto x = world.register_memory(Span<char>(segment.data() + begin, bytes));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.data()) % kGranule, 4096u);
      same_bytes(world, segment.data() + begin, x);
      // A second window beside it.
      auto y = world.register_memory(Span<char>(segment.data() + first + 64, 100));
      same_bytes(world, segment.data() + first + 64, y);
      world.free(x);
      y.set(1, 3);
      EXPECT_EQ(segment.data()[first + 65], 3) << "the other window went with the first";
      world.free(y);
    }
    EXPECT_EQ(live_on_all(world), before);
  });
}

// The user may free the memory when this PE has let go; peers may still write, and nobody else may get those writes.
TEST_P(GpuRegister, LettingGoIsSafeBeforeTheOthersDo) {
  run([](World& world) {
    const auto before = live_on_all(world);
    auto* mine = static_cast<char*>(isotope_gpu_alloc(kGranule, gpu_of(world), nullptr));
    auto x = world.register_memory(Span<char>(mine, kGranule));
    const Team team = world.team();
    char* at = x.data();
    world.barrier();
    if (world.rank() == 0) {
      x = {};
      isotope_gpu_free(mine, kGranule, gpu_of(world), nullptr);
    }
    world.barrier();
    if (world.rank() == world.size() - 1) *team.at(at, 0) = 5;  // as a late kernel of a peer would
    world.barrier();
    if (world.rank() != 0) {
      x = {};
      isotope_gpu_free(mine, kGranule, gpu_of(world), nullptr);
    }
    {
      auto flush = world.alloc<char>(1);
    }
    {
      auto flush = world.alloc<char>(1);
    }
    const auto after = live_on_all(world);
    EXPECT_EQ(after.handles, before.handles);
    EXPECT_EQ(after.mappings, before.mappings + world.size()) << "a piece of the heap for each PE, and nothing else";
  });
}

TEST_P(GpuRegister, RefusesTheSameOnAllAndLeavesNothing) {
  run([](World& world) {
    auto* mine = static_cast<char*>(isotope_gpu_alloc(2 * kGranule, gpu_of(world), nullptr));
    auto heap = world.alloc<char>(4096);
    const Segment bound_to_process(gpu_of(world), {kGranule}, 0);
    const Segment elsewhere((gpu_of(world) + 1) % 8, {kGranule});
    static char host[4096];
    void* plain = fake_cuda::plain_memory(gpu_of(world), kGranule);
    const bool one = world.rank() == world.size() - 1;  // the PE that passes something bad
    const std::string blame = "failed on PE " + std::to_string(world.size() - 1);
    const auto before = live_on_all(world);
    const auto expect = [&](void* bad, std::size_t bytes, Code code, const char* says) {
      const auto [found, text] = refusal(world, one ? bad : mine, bytes);
      EXPECT_EQ(found, code) << text;
      EXPECT_NE(text.find(says), std::string::npos) << text;
      EXPECT_NE(text.find(blame), std::string::npos) << text;
      EXPECT_EQ(live_on_all(world), before) << text;
    };
    expect(host, 4096, Code::invalid_argument, "no memory that CUDA knows");
    expect(plain, kGranule, Code::not_supported, "isotope_gpu_alloc");
    expect(elsewhere.data(), kGranule, Code::invalid_argument, "this PE drives GPU");
    expect(heap.data(), 4096, Code::invalid_argument, "symmetric memory of this World already");
    expect(mine + kGranule, 2 * kGranule, Code::invalid_argument, "no memory that CUDA knows");  // past its end
    if (!GetParam().threads && world.size() > 1) {
      expect(bound_to_process.data(), kGranule, Code::not_supported, "made for one process alone");
    }
    EXPECT_EQ(refusal(world, mine, 0).first, Code::invalid_argument);
    if (world.size() > 1) {
      EXPECT_EQ(refusal(world, mine, one ? kGranule : 2 * kGranule).first, Code::mismatch);
      const auto [code, text] = refusal(world, one ? mine + 4096 : mine, 100);
      EXPECT_EQ(code, Code::misaligned) << text;
      EXPECT_NE(text.find("begins 0 bytes into one on PE 0 and 4096 on PE"), std::string::npos) << text;
    }
    EXPECT_EQ(live_on_all(world), before);
    {
      auto x = world.register_memory(Span<char>(mine, 2 * kGranule));
      same_bytes(world, mine, x);
    }
    world.barrier();
    isotope_gpu_free(mine, 0, gpu_of(world), nullptr);
  });
}

TEST_P(GpuRegister, AFailureInTheMiddleIsTakenBack) {
  run([](World& world) {
    const Segment segment(gpu_of(world), {kGranule, kGranule, kGranule});
    const auto before = live_on_all(world);
    const bool one = world.rank() == 0;
    for (const char* call : {"cuMemRetainAllocationHandle", "cuMemGetAllocationPropertiesFromHandle", "cuMemMap",
                             "cuMemSetAccess", "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle"}) {
      const std::string name = call;
      if (GetParam().threads && name.find("Shareable") != std::string::npos) continue;  // threads pass no handles on
      if (world.size() == 1 && name.find("Shareable") != std::string::npos) continue;
      if (one) fake_cuda::fail(call, 2);
      const auto [code, text] = refusal(world, segment.data(), 3 * kGranule);
      EXPECT_NE(code, Code::ok) << call;
      EXPECT_NE(text.find("failed on PE 0"), std::string::npos) << text;
      EXPECT_EQ(live_on_all(world), before) << call;
    }
    auto x = world.register_memory(Span<char>(segment.data(), 3 * kGranule));
    same_bytes(world, segment.data(), x);
  });
}

// The range for registered memory is as large as the heap's, here 1 GiB: what is not given back is soon missed.
TEST_P(GpuRegister, AddressesAreUsedAgain) {
  run([](World& world) {
    const Segment segment(gpu_of(world), {128 * kGranule});
    for (int round = 0; round < 6; ++round) {
      if (world.rank() == 0) fake_cuda::fail("cuMemMap", 1);
      EXPECT_EQ(refusal(world, segment.data(), 128 * kGranule).first, Code::system);
      auto x = world.register_memory(Span<char>(segment.data(), 128 * kGranule));
      world.free(x);
    }
  });
}

// No other collective call between them: registering recycles what all have let go of.
TEST_P(GpuRegister, OneAfterAnotherWithoutFree) {
  run([](World& world) {
    const Segment segment(gpu_of(world), {128 * kGranule});
    for (int round = 0; round < 6; ++round) {
      const auto x = world.register_memory(Span<char>(segment.data(), 128 * kGranule));
      EXPECT_EQ(x.size(), 128 * kGranule);
    }
  });
}

TEST(GpuAllocator, RefusesInWordsAndNull) {
  fake_cuda::reset({.gpus = 1, .memory = 64 << 20});
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(isotope_gpu_alloc(100 << 20, 0, nullptr), nullptr);
  EXPECT_EQ(isotope_gpu_alloc(1, 5, nullptr), nullptr);
  int nowhere = 0;
  isotope_gpu_free(&nowhere, 0, 0, nullptr);
  isotope_gpu_free(nullptr, 0, 0, nullptr);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("isotope_gpu_alloc of 104857600 bytes on GPU 0"), std::string::npos) << said;
  EXPECT_NE(said.find("is not the start of memory of isotope_gpu_alloc"), std::string::npos) << said;
  for (const char* call : {"cuMemCreate", "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess"}) {
    fake_cuda::fail(call, 1);
    EXPECT_EQ(isotope_gpu_alloc(1, 0, nullptr), nullptr) << call;
    EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{}) << call;
  }
}

}  // namespace
}  // namespace isotope
