// One line a job where GPUs reach each other and their atomics do not.
#include "gpu_job.hpp"

namespace isotope {
namespace {

class GpuPeerAtomics : public testing::GpuJobTest {
 protected:
  /// Eight GPUs, of which the first `with` have atomics on each other.
  static std::string links(int with) {
    std::string all;
    for (int a = 0; a < 8; ++a) {
      for (int b = 0; b < 8; ++b) all += a == b ? 's' : a < with && b < with ? 'a' : 'p';
      all += ';';
    }
    return all;
  }
  static constexpr const char* kWarning = "without native atomics";
};
ISOTOPE_ALL_SHAPES(GpuPeerAtomics);

TEST_P(GpuPeerAtomics, NobodyIsToldWhereTheyAreThere) {
  const std::string said = said_by([](World& world) { world.barrier(); });
  EXPECT_EQ(lines_with(said, kWarning), 0) << said;
}

TEST_P(GpuPeerAtomics, OneLineNamesThePesWithoutThem) {
  fake_cuda::reset({.links = links(1)});
  const std::string said = said_by([](World& world) { world.barrier(); });
  const int pes = GetParam().pes;
  EXPECT_EQ(lines_with(said, kWarning), pes == 1 ? 0 : 1) << said;
  std::string named = "the GPU of PE 0 reaches that of PE";
  if (pes > 2) named += "s";
  for (int pe = 1; pe < pes; ++pe) named += (pe == 1 ? " " : ", ") + std::to_string(pe);
  EXPECT_EQ(lines_with(said, named + " without"), pes == 1 ? 0 : 1) << said;
}

TEST_P(GpuPeerAtomics, OfSomePeersThereMayBeSome) {
  fake_cuda::reset({.links = links(2)});
  const std::string said = said_by([](World& world) { world.barrier(); });
  EXPECT_EQ(lines_with(said, kWarning), GetParam().pes > 2 ? 1 : 0) << said;
  EXPECT_EQ(lines_with(said, "1, 2"), 0) << said;
}

}  // namespace
}  // namespace isotope
