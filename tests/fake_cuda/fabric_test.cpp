// Memory travels as fabric handles where every PE can, and as descriptors otherwise.
#include "gpu_job.hpp"
#include "isotope/host/info.hpp"
#include "isotope/isotope.h"
#include "segment.hpp"

namespace isotope {
namespace {

class GpuFabric : public testing::GpuJobTest {
 protected:
  static void use(World& world) {
    auto x = world.alloc<int>(1000);
    auto y = world.alloc<int>((70 << 20) / sizeof(int));
    x.set(3, world.rank() + 7);
    y.set(y.size() - 1, world.rank() + 9);
    world.barrier();
    for (int pe = 0; pe < world.size(); ++pe) {
      EXPECT_EQ(x.read_from(world.team(), pe, 3, 1)[0], pe + 7);
      EXPECT_EQ(y.read_from(world.team(), pe, y.size() - 1, 1)[0], pe + 9);
    }
    world.barrier();
  }
  static void use_registered(World& world, char* mine) {
    auto z = world.register_memory(Span<char>(mine, 100));
    z.set(5, static_cast<char>(world.rank()));
    world.barrier();
    for (int pe = 0; pe < world.size(); ++pe) EXPECT_EQ(z.read_from(world.team(), pe, 5, 1)[0], pe);
    world.barrier();
  }
  /// Whether a descriptor of another PE can be taken: no fabric handle needs it.
  static bool took_descriptors() { return fake_cuda::exports(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0; }
};
ISOTOPE_ALL_SHAPES(GpuFabric);

TEST_P(GpuFabric, WhereAllCan) {
  fake_cuda::reset({.fabric = true});
  run([](World& world) {
    use(world);
    EXPECT_FALSE(took_descriptors());
    // Memory of the user's goes as it can: by either way, by descriptors alone, by fabric handles alone.
    auto* both = static_cast<char*>(isotope_gpu_alloc(100, world.rank() % 8, nullptr));
    use_registered(world, both);
    EXPECT_FALSE(took_descriptors());
    const fake_cuda::Segment fabric(world.rank() % 8, {2 << 20}, CU_MEM_HANDLE_TYPE_FABRIC);
    use_registered(world, fabric.data());
    EXPECT_FALSE(took_descriptors());
    const fake_cuda::Segment descriptors(world.rank() % 8, {2 << 20});
    use_registered(world, descriptors.data());
    EXPECT_EQ(took_descriptors(), !GetParam().threads && world.size() > 1);
    isotope_gpu_free(both, 100, world.rank() % 8, nullptr);
  });
}

TEST(GpuInventory, SaysWhatWorksAndNotWhatIsPromised) {
  fake_cuda::reset({.gpus = 2, .multicast = true, .fabric = true});
  ASSERT_EQ(gpu_platform().gpus.size(), 2u);
  EXPECT_TRUE(gpu_platform().gpus[1].fabric);
  EXPECT_TRUE(gpu_platform().gpus[1].multicast);
  fake_cuda::reset({.gpus = 2, .fabric = true, .fabric_permitted = false});
  EXPECT_FALSE(gpu_platform().gpus[1].fabric);
  EXPECT_FALSE(gpu_platform().gpus[1].multicast);
  EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{}) << "the trial";
}

// An H200 of a cloud says that it has fabric handles, and refuses every one: there is no channel of the fabric.
TEST_P(GpuFabric, APromiseThatIsNotKept) {
  fake_cuda::reset({.fabric = true, .fabric_permitted = false});
  run([](World& world) {
    use(world);
    EXPECT_TRUE(took_descriptors());
    EXPECT_EQ(fake_cuda::exports(CU_MEM_HANDLE_TYPE_FABRIC), 0);
  });
}

TEST_P(GpuFabric, OneThatCannotDecidesForAll) {
  if (GetParam().threads) return;  // of one process all can or none
  fake_cuda::reset({.fabric = true});
  const int pes = GetParam().pes;
  const JobResult result = run_processes({.pes = pes, .timeout = std::chrono::seconds(60)}, [&] {
    // PEs are told apart by what the launcher has told them.
    if (std::string(std::getenv("ISOTOPE_RANK")) == "0") fake_cuda::reset({.fabric = true, .fabric_permitted = false});
    World world = init();
    const int trials = fake_cuda::exports(CU_MEM_HANDLE_TYPE_FABRIC);
    use(world);
    EXPECT_EQ(fake_cuda::exports(CU_MEM_HANDLE_TYPE_FABRIC), trials);
    EXPECT_TRUE(took_descriptors());
    return ::testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(result.exit_code, 0) << result.message;
}

}  // namespace
}  // namespace isotope
