// PEs disagree about an allocation, or it does not fit: every PE hears the same, and nothing changed. Rows 13, 14, 16
// and 17.
#include <gtest/gtest.h>

#include <string>

#include "support/fault_job.hpp"

namespace isotope {
namespace {

using testing::FaultJob;
using testing::has_number;
using testing::kReleaseBound;
using testing::PesAs;
using testing::Seat;

class Allocation : public ::testing::TestWithParam<testing::FaultShape> {
 protected:
  /// Calls `wrong` on every PE; it has to throw `code` on each, in time, with equal messages, and leave heap and World
  /// as they were.
  void expect_refused(const std::function<void(World&)>& wrong, Code code, const std::vector<std::uint64_t>& numbers,
                      InitOptions options = {}, std::function<void(FaultJob&)> prepare = {}) {
    FaultJob job(GetParam(), options);
    if (prepare) prepare(job);
    job.run([&](World& world, Seat& seat) {
      auto before = world.alloc<int>(500);
      before[0] = 4711;
      const HeapUse use_before = world.heap_use();
      seat.begin();
      seat.attempt([&] { wrong(world); });
      const HeapUse use_after = world.heap_use();
      EXPECT_EQ(use_after.used, use_before.used);
      EXPECT_EQ(use_after.objects, use_before.objects);
      EXPECT_EQ(use_after.largest_free, use_before.largest_free);
      EXPECT_EQ(before[0], 4711);
      EXPECT_EQ(world.status().code, Code::ok) << world.status().message;
      // All PEs still agree on the order of calls and on where the next object lies.
      auto after = world.alloc_zeroed<int>(1000);
      *world.team().at(after.data(), (world.rank() + 1) % world.size()) = world.rank() + 1;
      world.barrier();
      EXPECT_EQ(after[0], (world.rank() + world.size() - 1) % world.size() + 1);
      world.barrier();
    });
    for (int pe = 0; pe < job.pes(); ++pe) {
      const Seat& seat = job.seat(pe);
      ASSERT_TRUE(seat.threw) << "PE " << pe << " was not told";
      EXPECT_EQ(seat.code, code) << seat.message;
      EXPECT_EQ(seat.error_pe, pe) << seat.message;
      EXPECT_EQ(seat.peer, job.seat(0).peer) << "PEs blame different PEs: " << seat.message;
      EXPECT_TRUE(job.took_between(pe, {}, kReleaseBound));
      for (std::uint64_t number : numbers)
        EXPECT_TRUE(has_number(seat.message, number)) << number << " is not in: " << seat.message;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(All, Allocation, ::testing::ValuesIn(testing::all_shapes()), testing::fault_shape_name);

TEST_P(Allocation, OfDifferentSizes) {
  const int odd = GetParam().pes - 1;
  expect_refused([odd](World& world) { (void)world.alloc<char>(world.rank() == odd ? 77001 : 55001); }, Code::mismatch,
                 {77001, 55001});
}

TEST_P(Allocation, OfASizeOfItsOwnOnEveryPe) {
  std::vector<std::uint64_t> sizes;
  for (int pe = 0; pe < GetParam().pes; ++pe) sizes.push_back(10007u * static_cast<std::uint64_t>(pe + 1));
  expect_refused([&](World& world) { (void)world.alloc<char>(sizes[static_cast<std::size_t>(world.rank())]); },
                 Code::mismatch, sizes);
}

TEST_P(Allocation, OfDifferentAlignments) {
  expect_refused([](World& world) { (void)world.alloc<char>(60013, {.alignment = world.rank() == 0 ? 8192u : 512u}); },
                 Code::mismatch, {8192, 512});
}

TEST_P(Allocation, InDifferentOrder) {
  const auto small = [](World& world) { return world.alloc<char>(30011); };
  const auto large = [](World& world) { return world.alloc<char>(90017); };
  expect_refused(
      [&](World& world) {
        if (world.rank() == 0) {
          auto a = small(world);
          auto b = large(world);
        } else {
          auto b = large(world);
          auto a = small(world);
        }
      },
      Code::mismatch, {30011, 90017});
}

// The sizes agree, and only the places in the source tell that two objects would swap their roles.
TEST_P(Allocation, InDifferentOrderWithEqualSizes) {
  const auto keys = [](World& world) { return world.alloc<char>(30011); };
  const auto values = [](World& world) { return world.alloc<char>(30011); };
  expect_refused(
      [&](World& world) {
        if (world.rank() == 0) {
          auto a = keys(world);
          auto b = values(world);
        } else {
          auto b = values(world);
          auto a = keys(world);
        }
      },
      Code::mismatch, {});
}

// One PE allocates once more, while the others are at a barrier already.
TEST_P(Allocation, OfADifferentCount) {
  expect_refused(
      [](World& world) {
        if (world.rank() == 0) {
          (void)world.alloc<char>(30011);
        } else {
          world.barrier();
        }
      },
      Code::mismatch, {});
}

TEST_P(Allocation, WhileOthersFree) {
  FaultJob job(GetParam());
  job.run([&](World& world, Seat& seat) {
    auto object = world.alloc<int>(100);
    seat.begin();
    seat.attempt([&] {
      if (world.rank() == 0) {
        (void)world.alloc<int>(100);
      } else {
        world.free(object);
      }
    });
    EXPECT_TRUE(object) << "a free that failed freed";
    world.free(object);
    world.barrier();
  });
  for (int pe = 0; pe < job.pes(); ++pe) {
    ASSERT_TRUE(job.seat(pe).threw) << "PE " << pe;
    EXPECT_EQ(job.seat(pe).code, Code::mismatch) << job.seat(pe).message;
    EXPECT_TRUE(job.took_between(pe, {}, kReleaseBound));
  }
}

// One PE allocates once more, while the others have left.
TEST_P(Allocation, AfterTheOthersLeft) {
  FaultJob job(GetParam());
  job.run([&](World& world, Seat& seat) {
    world.barrier();
    seat.begin();
    if (world.rank() == 0) (void)world.alloc<char>(30011);
  });
  ASSERT_TRUE(job.seat(0).threw);
  EXPECT_EQ(job.seat(0).code, Code::peer_left) << job.seat(0).message;
  EXPECT_TRUE(job.took_between(0, {}, kReleaseBound));
}

constexpr std::uint64_t kMiB = 1u << 20;

TEST_P(Allocation, LargerThanEveryHeap) {
  expect_refused([](World& world) { (void)world.alloc<char>(64 * kMiB + 7); }, Code::out_of_heap, {64 * kMiB + 7},
                 {.heap_max_bytes = 16 * kMiB});
}

// The message says what a reader needs: how much was asked for, what is there, which knob to turn.
TEST_P(Allocation, OutOfHeapSaysWhatToDo) {
  FaultJob job(GetParam(), {.heap_max_bytes = 16 * kMiB});
  job.run([&](World& world, Seat& seat) {
    auto most = world.alloc<char>(12 * kMiB);
    const HeapUse use = world.heap_use();
    EXPECT_LE(use.limit, 16 * kMiB);
    seat.words[0] = use.free;
    seat.words[1] = use.largest_free;
    seat.attempt([&] { (void)world.alloc<char>(8 * kMiB); });
    auto fits = world.alloc<char>(1 * kMiB);
    world.free(most);
    auto now_it_does = world.alloc<char>(8 * kMiB);
  });
  for (int pe = 0; pe < job.pes(); ++pe) {
    const Seat& seat = job.seat(pe);
    ASSERT_TRUE(seat.threw);
    EXPECT_EQ(seat.code, Code::out_of_heap) << seat.message;
    EXPECT_NE(std::string(seat.message).find("ISOTOPE_HEAP_MAX"), std::string::npos) << seat.message;
    EXPECT_TRUE(has_number(seat.message, 8 * kMiB)) << "what was asked for, in: " << seat.message;
    EXPECT_TRUE(has_number(seat.message, seat.words[0])) << "free bytes, in: " << seat.message;
    EXPECT_TRUE(has_number(seat.message, seat.words[1])) << "largest free range, in: " << seat.message;
  }
}

TEST_P(Allocation, LargerThanOneHeap) {
  if (GetParam().as == PesAs::threads) GTEST_SKIP() << "threads learn their rank in init()";
  const int small = GetParam().pes / 2;
  expect_refused([](World& world) { (void)world.alloc<char>(20 * kMiB); }, Code::out_of_heap, {20 * kMiB},
                 {.heap_max_bytes = 64 * kMiB},
                 [small](FaultJob& job) { job.set_options(small, {.heap_max_bytes = 8 * kMiB}); });
}

// Refused ones leave nothing behind, however many.
TEST_P(Allocation, RefusedManyTimesLeaksNothing) {
  expect_refused(
      [](World& world) {
        for (int i = 0;; ++i) {
          try {
            (void)world.alloc<char>(64 * kMiB);
          } catch (const Error&) {
            if (i == 200) throw;
          }
        }
      },
      Code::out_of_heap, {}, {.heap_max_bytes = 16 * kMiB});
}

}  // namespace
}  // namespace isotope
