// Memory that the user owns, made reachable where it lies.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "support/job_shape.hpp"

namespace isotope {
namespace {

class RegisterTest : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(RegisterTest);

constexpr std::size_t kPage = 4096;

TEST_P(RegisterTest, SameBytesUnderTheOldAddressAndForPeers) {
  run([](World& world) {
    const std::size_t n = 3 * kPage / sizeof(std::uint32_t);
    auto* mine = static_cast<std::uint32_t*>(std::aligned_alloc(kPage, 3 * kPage));
    for (std::size_t i = 0; i < n; ++i)
      mine[i] = static_cast<std::uint32_t>(world.rank() * 100000) + static_cast<std::uint32_t>(i);
    {
      auto x = world.register_memory(Span<std::uint32_t>(mine, n));
      ASSERT_EQ(x.size(), n);
      world.barrier();
      const int next = (world.rank() + 1) % world.size();
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(mine[i], static_cast<std::uint32_t>(world.rank() * 100000) + i)
            << "the old address lost its contents";
        ASSERT_EQ(world.team().at(x.data(), next)[i], static_cast<std::uint32_t>(next * 100000) + i);
      }
      world.barrier();
      world.team().at(x.data(), next)[5] = 77u + static_cast<std::uint32_t>(world.rank());
      world.barrier();
      const int previous = (world.rank() + world.size() - 1) % world.size();
      EXPECT_EQ(mine[5], 77u + static_cast<std::uint32_t>(previous));
      world.barrier();
      world.free(x);
    }
    mine[6] = 1;  // still the caller's
    std::free(mine);
  });
}

TEST_P(RegisterTest, ManyTimesWithoutRunningOut) {
  run([](World& world) {
    for (int round = 0; round < 20; ++round) {
      void* mine = ::mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      ASSERT_NE(mine, MAP_FAILED);
      {
        auto x = world.register_memory(Span<char>(static_cast<char*>(mine), 4 * kPage));
        x[1] = static_cast<char>(round);
        EXPECT_EQ(static_cast<char*>(mine)[1], static_cast<char>(round));
        world.barrier();
      }
      auto flush = world.alloc<char>(1);
      ::munmap(mine, 4 * kPage);
    }
  });
}

TEST_P(RegisterTest, RefusesWhatItCannotShare) {
  run([](World& world) {
    auto* mine = static_cast<char*>(std::aligned_alloc(kPage, 4 * kPage));
    const auto code_of = [&](char* data, std::size_t bytes) {
      try {
        (void)world.register_memory(Span<char>(data, bytes));
      } catch (const Error& error) {
        return error.code();
      }
      return Code::ok;
    };
    EXPECT_EQ(code_of(mine + 8, kPage), Code::misaligned);
    EXPECT_EQ(code_of(mine, 100), Code::misaligned);
    EXPECT_EQ(code_of(mine, 0), Code::misaligned);
    void* shared = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_EQ(code_of(static_cast<char*>(shared), kPage), Code::not_supported);
    if (world.size() > 1) {
      EXPECT_EQ(code_of(mine, world.rank() == 0 ? kPage : 2 * kPage), Code::mismatch);
    }
    EXPECT_EQ(code_of(mine, 2 * kPage), Code::ok);
    ::munmap(shared, kPage);
    std::free(mine);
  });
}

}  // namespace
}  // namespace isotope
