// The symmetric heap in the memory of GPUs: grows on demand, peers at equal stride, all or nobody.
#include <numeric>

#include "gpu_job.hpp"

namespace isotope {
namespace {

class GpuHeap : public testing::GpuJobTest {
 protected:
  /// Values that tell the PE and the object.
  static std::vector<int> values(int pe, std::size_t n, int object) {
    std::vector<int> v(n);
    std::iota(v.begin(), v.end(), pe * 1000000 + object * 100);
    return v;
  }
  static void everyone_sees_everyone(World& world, const Symmetric<int>& x, int object) {
    x.write(values(world.rank(), x.size(), object));
    world.barrier();
    for (int pe = 0; pe < world.size(); ++pe) {
      EXPECT_EQ(x.read_from(world.team(), pe), values(pe, x.size(), object)) << "of PE " << pe;
    }
    world.barrier();
  }
};
ISOTOPE_ALL_SHAPES(GpuHeap);

TEST_P(GpuHeap, PeersAtEqualStride) {
  run([](World& world) {
    EXPECT_TRUE(world.drives_gpu());
    auto x = world.alloc<int>(5000);
    everyone_sees_everyone(world, x, 1);
    // One multiply-add for everybody: the same distance between any two neighbours.
    const Team team = world.team();
    for (int pe = 1; pe < world.size(); ++pe) {
      EXPECT_EQ(team.at(x.data(), pe) - team.at(x.data(), pe - 1), team.at(x.data(), 1) - team.at(x.data(), 0));
    }
    EXPECT_THROW(x[0] = 1, Error);
  });
}

TEST_P(GpuHeap, GrowsByPiecesThatAllMap) {
  run([](World& world) {
    const int before = fake_cuda::live().mappings;
    auto x = world.alloc<int>(1000);
    auto y = world.alloc_zeroed<int>((70 << 20) / sizeof(int));  // past the first piece of 64 MiB
    EXPECT_EQ(y.get(y.size() - 1), 0);
    if (world.size() == 1) {
      EXPECT_EQ(fake_cuda::live().mappings, before + 2);
    }
    everyone_sees_everyone(world, x, 2);
    y.set(y.size() - 1, world.rank() + 5);
    world.barrier();
    const int next = (world.rank() + 1) % world.size();
    EXPECT_EQ(y.read_from(world.team(), next, y.size() - 1, 1)[0], next + 5);
    world.barrier();
  });
}

TEST_P(GpuHeap, OneWithoutMemoryTakesTheOthersBack) {
  run([](World& world) {
    auto x = world.alloc<int>(1000);
    const auto before = live_on_all(world);
    const bool last = world.rank() == world.size() - 1;
    for (const char* call :
         {"cuMemCreate", "cuMemExportToShareableHandle", "cuMemMap", "cuMemSetAccess", "cuMemsetD8Async"}) {
      if (last)
        fake_cuda::fail(call, 1, call == std::string("cuMemCreate") ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN);
      const auto [code, text] = error_of([&] { world.alloc<char>(100 << 20); });
      EXPECT_EQ(code, call == std::string("cuMemCreate") ? Code::out_of_heap : Code::system) << call << ": " << text;
      EXPECT_NE(text.find("failed on PE " + std::to_string(world.size() - 1)), std::string::npos) << text;
      EXPECT_EQ(live_on_all(world), before) << call;
    }
    auto y = world.alloc<int>((100 << 20) / sizeof(int));
    everyone_sees_everyone(world, x, 3);
  });
}

// What peers import, they fail at alone; nobody may keep the growth.
TEST_P(GpuHeap, OneThatCannotImportTakesTheOthersBack) {
  if (GetParam().threads || GetParam().pes == 1) return;  // nothing is imported within a process
  run([](World& world) {
    auto x = world.alloc<int>(1000);
    const auto before = live_on_all(world);
    if (world.rank() == 0) fake_cuda::fail("cuMemImportFromShareableHandle", 1);
    const auto [code, text] = error_of([&] { world.alloc<char>(100 << 20); });
    EXPECT_EQ(code, Code::system) << text;
    EXPECT_EQ(live_on_all(world), before);
    everyone_sees_everyone(world, x, 4);
  });
}

TEST_P(GpuHeap, SeveralPesOnOneGpu) {
  fake_cuda::reset({.gpus = 1});
  ::setenv("ISOTOPE_ALLOW_TIME_SLICING", "1", 1);
  run([](World& world) {
    auto x = world.alloc<int>(1000);
    everyone_sees_everyone(world, x, 5);
    EXPECT_EQ(world.team().multicast(x.data()), nullptr);
  });
  ::unsetenv("ISOTOPE_ALLOW_TIME_SLICING");
}

}  // namespace
}  // namespace isotope
