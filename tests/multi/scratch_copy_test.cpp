// put and get that are given shared memory: the same results, whatever the scratch is good for.
#include "support/job_shape.hpp"
#include "support/scratch_copies.hpp"

namespace isotope {
namespace {

class ScratchCopy : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(ScratchCopy);

TEST_P(ScratchCopy, MovesEveryByteAndNoOther) {
  run([](World& world) {
    testing::scratch_copies(world, [](bool good, const std::string& what) { EXPECT_TRUE(good) << what; });
  });
}

}  // namespace
}  // namespace isotope
