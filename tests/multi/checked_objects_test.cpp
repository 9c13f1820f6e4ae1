// What is a symmetric object to a kernel of the checked build: this PE's own, as long as it lives, and registered
// memory (the host's here; gpu/register.cu has the GPU's).
#include <cstdlib>
#include <cstring>
#include <thread>

#include "support/job_shape.hpp"
#include "support/refusals.hpp"

namespace isotope {
namespace {

using testing::expect_refused;

class CheckedObjects : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(CheckedObjects);

ISOTOPE_KERNEL void put_one(Team team, std::uint64_t* to, std::uint64_t value, int pe) { p(team, to, value, pe); }

TEST_P(CheckedObjects, FreedAndPeersAreRefused) {
  if (!ISOTOPE_CHECKED) GTEST_SKIP() << "addresses are checked in the checked build";
  run([](World& world) {
    const char* const foreign = "this PE's own address of a symmetric object was expected";
    const int right = (world.rank() + 1) % world.size();
    auto first = world.alloc_zeroed<std::uint64_t>(4), second = world.alloc_zeroed<std::uint64_t>(4);
    std::uint64_t* gone = first.data();
    world.launch<put_one>({}, world.team(), gone, 1, right);
    EXPECT_NO_THROW(world.synchronize());
    world.free(first);
    world.launch<put_one>({}, world.team(), gone, 1, right);
    while (!world.stream().idle()) std::this_thread::yield();
    expect_refused(world, {"p", "dst", Code::not_symmetric, foreign});
    if (world.size() > 1) {  // a peer's address instead of this PE's
      world.launch<put_one>({}, world.team(), world.team().at(second.data(), right), 1, right);
      while (!world.stream().idle()) std::this_thread::yield();
      expect_refused(world, {"p", "dst", Code::not_symmetric, foreign});
    }
    world.barrier();
    EXPECT_EQ(second.get(0), 0u);
    world.barrier();
  });
}

TEST_P(CheckedObjects, RegisteredMemoryIsOne) {
  run([](World& world) {
    if (world.drives_gpu()) return;
    constexpr std::size_t kPage = 4096;
    auto* own = static_cast<std::uint64_t*>(std::aligned_alloc(kPage, kPage));
    std::memset(own, 0, kPage);
    {
      auto window = world.register_memory(Span<std::uint64_t>(own, kPage / 8));
      world.launch<put_one>({}, world.team(), &window[511], 100 + static_cast<std::uint64_t>(world.rank()),
                            (world.rank() + 1) % world.size());
      EXPECT_NO_THROW(world.synchronize());
      world.barrier();
      EXPECT_EQ(own[511], 100u + static_cast<std::uint64_t>((world.rank() + world.size() - 1) % world.size()));
      world.barrier();
    }
    std::free(own);
    world.barrier();
  });
}

}  // namespace
}  // namespace isotope
