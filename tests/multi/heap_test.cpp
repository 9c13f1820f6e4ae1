// Symmetric allocation: agreement, reuse, growth and errors that every PE sees alike.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "support/job_shape.hpp"
#include "support/symmetric.hpp"

namespace isotope {
namespace {

class HeapTest : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(HeapTest);

/// Runs `call` and returns the Error it throws; fails the test when it throws none.
template <class F>
Error error_of(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no Error was thrown";
  return Error(Code::ok, "");
}

TEST_P(HeapTest, ObjectsAreAlignedAndZeroed) {
  run([](World& world) {
    for (std::size_t alignment = 1; alignment <= (2u << 20); alignment *= 2) {
      auto x = world.alloc<char>(3, {.alignment = alignment});
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.data()) % std::max<std::size_t>(alignment, 256), 0u) << alignment;
      testing::fill(x, static_cast<char>(0xff));
    }
    for (int i = 0; i < 20; ++i) {
      auto z = world.alloc_zeroed<std::uint64_t>(1000);
      ASSERT_EQ(z.read(), std::vector<std::uint64_t>(z.size(), 0));
      testing::fill(z, ~std::uint64_t{0});
      world.free(z);
      EXPECT_FALSE(z);
    }
  });
}

TEST_P(HeapTest, HostCopiesInAndOut) {
  run([](World& world) {
    auto x = world.alloc<int>(10);
    std::vector<int> mine(10);
    for (int i = 0; i < 10; ++i) mine[static_cast<std::size_t>(i)] = 100 * world.rank() + i;
    x.write(mine);
    EXPECT_EQ(x.read(), mine);
    EXPECT_EQ(x.read(7), std::vector<int>(mine.begin() + 7, mine.end()));
    EXPECT_EQ(x.read(2, 3), std::vector<int>(mine.begin() + 2, mine.begin() + 5));
    EXPECT_TRUE(x.read(10).empty());
    EXPECT_EQ(x.get(9), mine[9]);
    x.write({7, 8}, 4);
    x.set(6, 9);
    EXPECT_EQ(x.read(4, 3), (std::vector<int>{7, 8, 9}));
    world.barrier();
    for (int pe = 0; pe < world.size(); ++pe)
      EXPECT_EQ(x.read_from(world.team(), pe, 9), std::vector<int>{100 * pe + 9});
    for (const auto& past :
         std::vector<std::function<void()>>{[&] { x.read(5, 6); }, [&] { x.get(10); }, [&] { x.write(mine, 1); },
                                            [&] { x.set(10, 0); }, [&] { x.read_from(world.team(), 0, 11, 1); }}) {
      try {
        past();
        ADD_FAILURE() << "a range past the object was taken";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::out_of_range) << error.what();
      }
    }
    EXPECT_EQ(x.get(0), mine[0]);
    world.barrier();
  });
}

TEST_P(HeapTest, GrowsOnDemandPastManySteps) {
  run([](World& world) {
    std::vector<Symmetric<std::byte>> held;
    for (int i = 0; i < 6; ++i) {
      held.push_back(world.alloc<std::byte>(48u << 20));
      const std::size_t last = held.back().size() - 1;
      held.back().set(0, static_cast<std::byte>(world.rank()));
      held.back().set(last, static_cast<std::byte>(i));
    }
    world.barrier();
    const int next = (world.rank() + 1) % world.size();
    for (std::size_t i = 0; i < held.size(); ++i) {
      EXPECT_EQ(held[i].read_from(world.team(), next, 0, 1).front(), static_cast<std::byte>(next));
      EXPECT_EQ(held[i].read_from(world.team(), next, held[i].size() - 1).front(), static_cast<std::byte>(i));
    }
  });
}

TEST_P(HeapTest, DifferentSizesFailOnEveryPeAndChangeNothing) {
  if (GetParam().pes == 1) return;  // one PE cannot differ from itself
  run([](World& world) {
    const HeapUse before = world.heap_use();
    for (int round = 0; round < 10; ++round) {
      const Error error = error_of([&] { (void)world.alloc<char>(world.rank() == 1 ? 2000 : 1000); });
      EXPECT_EQ(error.code(), Code::mismatch);
      const std::string text = error.what();
      EXPECT_NE(text.find("PE 0: 1000 bytes"), std::string::npos) << text;
      EXPECT_NE(text.find("PE 1: 2000 bytes"), std::string::npos) << text;
      EXPECT_EQ(error.peer(), 1);
    }
    EXPECT_EQ(world.heap_use().used, before.used);
    auto fine = world.alloc_zeroed<int>(10);
    fine.set(0, world.rank() + 1);
    world.barrier();
    EXPECT_EQ(fine.read_from(world.team(), 0).front(), 1);
    world.barrier();
  });
}

TEST_P(HeapTest, DifferentAlignmentsAndCallsFailAlike) {
  if (GetParam().pes == 1) return;
  run([](World& world) {
    EXPECT_EQ(error_of([&] { (void)world.alloc<char>(64, {.alignment = world.rank() == 0 ? 512u : 1024u}); }).code(),
              Code::mismatch);
    // One PE allocates while the others are in a barrier.
    const Error error = error_of([&] {
      if (world.rank() == 0) {
        (void)world.alloc<char>(64);
      } else {
        world.barrier();
      }
    });
    EXPECT_EQ(error.code(), Code::mismatch);
    EXPECT_NE(std::string(error.what()).find("PE 0 alloc"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("PE 1 barrier"), std::string::npos) << error.what();
    world.barrier();
    auto x = world.alloc<char>(64);
    EXPECT_TRUE(x);
  });
}

TEST_P(HeapTest, FreeingDifferentObjectsFailsAlike) {
  if (GetParam().pes == 1) return;
  run([](World& world) {
    auto a = world.alloc<char>(1000), b = world.alloc<char>(3000);
    const HeapUse before = world.heap_use();
    EXPECT_EQ(error_of([&] { world.free(world.rank() == 0 ? a : b); }).code(), Code::mismatch);
    EXPECT_EQ(world.heap_use().used, before.used);
    EXPECT_TRUE(a);
    EXPECT_TRUE(b);
    world.free(a);
    // A second free of the same handle is refused on every PE, also when only one PE does it.
    EXPECT_EQ(error_of([&] { world.free(world.rank() == 0 ? a : b); }).code(), Code::not_symmetric);
    world.free(b);
  });
}

TEST_P(HeapTest, OutOfHeapNamesTheNumbersAndTheKnob) {
  run(
      [](World& world) {
        auto kept = world.alloc<std::byte>(300'000);
        const HeapUse before = world.heap_use();
        const Error error = error_of([&] { (void)world.alloc<std::byte>(900'000); });
        EXPECT_EQ(error.code(), Code::out_of_heap);
        const std::string text = error.what();
        for (const char* part : {"900000 bytes", "ISOTOPE_HEAP_MAX", "1048576", "largest free block"}) {
          EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
        }
        EXPECT_EQ(world.heap_use().used, before.used);
        EXPECT_TRUE(world.alloc<std::byte>(500'000)) << "a smaller request still fits";
      },
      {.heap_max_bytes = 1u << 20});
}

TEST_P(HeapTest, OutOfHeapOnOnePeFailsOnAllAndRollsBack) {
  if (GetParam().pes == 1) return;
  run([](World& all) {
    // Has a small heap on PE 1 only.
    World world = init({.heap_max_bytes = all.rank() == 1 ? 1u << 20 : 64u << 20});
    const HeapUse before = world.heap_use();
    const Error error = error_of([&] { (void)world.alloc<std::byte>(2u << 20); });
    EXPECT_EQ(error.code(), Code::out_of_heap);
    EXPECT_EQ(error.peer(), 1);
    EXPECT_NE(std::string(error.what()).find("PE 1"), std::string::npos) << error.what();
    EXPECT_EQ(world.heap_use().used, before.used);
    auto fits = world.alloc_zeroed<int>(1000);
    fits.set(0, world.rank() + 1);
    world.barrier();
    EXPECT_EQ(fits.read_from(world.team(), 1, 0, 1).front(), 2);
    world.barrier();
  });
}

// Destructors never communicate; memory comes back at a later collective call, once all PEs have let go.
TEST_P(HeapTest, DestroyedObjectsAreRecycledWhenAllHaveLetGo) {
  run(
      [](World& world) {
        for (int round = 0; round < 50; ++round) {
          auto x = world.alloc<std::byte>(400'000);  // a third one would not fit beside two
          x.set(0, std::byte{1});
        }
        auto held = std::make_optional(world.alloc<std::byte>(300'000));
        if (world.rank() != 0) held.reset();
        auto small = world.alloc<char>(16);
        if (world.size() > 1) {
          EXPECT_EQ(world.heap_use().waiting_for_peers, world.rank() == 0 ? 0u : 1u);
        }
        held.reset();
        auto another = world.alloc<char>(16);
        auto third = world.alloc<char>(16);
        EXPECT_EQ(world.heap_use().waiting_for_peers, 0u);
        EXPECT_LT(world.heap_use().used, 10'000u);
      },
      {.heap_max_bytes = 1u << 20});
}

// Random cycles of allocation, explicit free and destruction: nothing overlaps, nothing leaks, nothing crumbles.
TEST_P(HeapTest, RandomCyclesNeitherLeakNorFragment) {
  run([](World& world) {
    // All of them where every PE has a core; fewer where PEs take turns, or memory is a GPU's and copied in and out.
    const int cycles = world.size() <= 2 && !world.drives_gpu() ? 100'000 : 6'000 / world.size();
    std::mt19937 random(42);  // the same on every PE
    struct Held {
      Symmetric<std::uint32_t> object;
      std::uint32_t stamp;
    };
    std::vector<Held> held;
    for (int cycle = 0; cycle < cycles; ++cycle) {
      const bool take = held.empty() || (held.size() < 64 && random() % 2 == 0);
      if (take) {
        const std::size_t n = 1 + random() % (random() % 8 == 0 ? 20'000 : 200);
        Held h{world.alloc<std::uint32_t>(n),
               static_cast<std::uint32_t>(random() + static_cast<unsigned>(world.rank()))};
        testing::fill(h.object, h.stamp);
        held.push_back(std::move(h));
      } else {
        const std::size_t which = random() % held.size();
        const Held& h = held[which];
        ASSERT_EQ(h.object.read(), std::vector<std::uint32_t>(h.object.size(), h.stamp)) << "objects overlap";
        if (random() % 2 == 0) world.free(held[which].object);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      }
    }
    held.clear();
    for (int i = 0; i < 2; ++i) {
      auto flush = world.alloc<char>(1);
      world.free(flush);
    }
    const HeapUse use = world.heap_use();
    EXPECT_EQ(use.used, 0u);
    EXPECT_EQ(use.objects, 0u);
    EXPECT_EQ(use.free_ranges, 1u);
  });
}

TEST_P(HeapTest, BadArgumentsAreRefused) {
  run([](World& world) {
    EXPECT_EQ(error_of([&] { (void)world.alloc<char>(8, {.alignment = 48}); }).code(), Code::invalid_argument);
    EXPECT_EQ(error_of([&] { (void)world.alloc<char>(8, {.alignment = 4u << 20}); }).code(), Code::invalid_argument);
    EXPECT_EQ(error_of([&] { (void)world.alloc<std::uint64_t>(~std::size_t{0} / 4); }).code(), Code::invalid_argument);
    auto empty = world.alloc<int>(0);
    EXPECT_EQ(empty.size(), 0u);
    world.barrier();
  });
}

TEST(Heap, CapTooSmallIsRefused) {
  const Error error = error_of([] { (void)init({.heap_max_bytes = 100}); });
  EXPECT_EQ(error.code(), Code::invalid_argument);
  EXPECT_NE(std::string(error.what()).find("ISOTOPE_HEAP_MAX"), std::string::npos) << error.what();
}

}  // namespace
}  // namespace isotope
