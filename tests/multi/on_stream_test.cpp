// Calls that host code enqueues on a stream: put, get, signal, wait, barrier, sync.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/job_shape.hpp"

namespace isotope {
namespace {

class OnStream : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(OnStream);

TEST_P(OnStream, MovesDataAroundARingInOrder) {
  run([](World& world) {
    const int size = world.size(), right = (world.rank() + 1) % size, left = (world.rank() + size - 1) % size;
    constexpr std::size_t kCount = 100003;  // several blocks, and a ragged end
    auto from = world.alloc<int>(kCount), to = world.alloc<int>(kCount), back = world.alloc<int>(kCount);
    auto flag = world.alloc_zeroed<Signal>(1);
    Stream stream = world.create_stream();
    for (int round = 1; round <= 3; ++round) {
      std::vector<int> mine(kCount), theirs(kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        mine[i] = static_cast<int>(i) * 5 + world.rank() + 1000 * round;
        theirs[i] = static_cast<int>(i) * 5 + left + 1000 * round;
      }
      from.write(mine);
      to.write(std::vector<int>(kCount, -1));
      back.write(std::vector<int>(kCount, -2));
      world.barrier();
      on_stream::put(world, stream, world.team(), to.data(), from.data(), kCount, right);
      on_stream::signal(world, stream, world.team(), flag.data(), 1, SignalOp::add, right);
      on_stream::wait(world, stream, world.team(), flag.data(), Cmp::ge, static_cast<std::uint64_t>(round), left);
      on_stream::barrier(world, stream, world.team());
      on_stream::get(world, stream, world.team(), back.data(), to.data(), kCount, right);
      on_stream::quiet(world, stream, world.team());
      stream.synchronize();
      EXPECT_EQ(to.read(), theirs);
      EXPECT_EQ(back.read(), mine);
      world.barrier();
    }
  });
}

TEST_P(OnStream, EveryByteOnceWhateverTheLength) {
  run([](World& world) {
    const int right = (world.rank() + 1) % world.size();
    for (const std::size_t bytes : {0u, 1u, 15u, 16u, 17u, 65536u, 65537u, 131072u + 5u}) {
      auto from = world.alloc<char>(bytes + 1), to = world.alloc<char>(bytes + 1);
      from.write(std::vector<char>(bytes + 1, static_cast<char>(world.rank() + 1)));
      to.write(std::vector<char>(bytes + 1, 99));
      world.barrier();
      on_stream::put(world, {}, world.team(), to.data(), from.data(), bytes, right);
      on_stream::barrier(world, {}, world.team(), 3);
      world.synchronize();
      std::vector<char> expected(bytes + 1, static_cast<char>((world.rank() + world.size() - 1) % world.size() + 1));
      expected[bytes] = 99;
      EXPECT_EQ(to.read(), expected) << bytes;
      world.barrier();
    }
  });
}

TEST_P(OnStream, AWaitThatGivesUpIsThrownAndStopsWhatFollows) {
  run(
      [](World& world) {
        const int right = (world.rank() + 1) % world.size();
        auto never = world.alloc_zeroed<Signal>(1), canary = world.alloc_zeroed<Signal>(1);
        on_stream::wait(world, {}, world.team(), never.data(), Cmp::ge, 7, right);
        on_stream::signal(world, {}, world.team(), canary.data(), 1, SignalOp::add, right);
        try {
          world.synchronize();
          ADD_FAILURE() << "no error";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Code::timeout);
          EXPECT_EQ(error.peer(), right);
          EXPECT_NE(std::string(error.what()).find("on_stream_test.cpp"), std::string::npos) << error.what();
        }
        world.barrier();
        EXPECT_EQ(canary.get(0).value, 0u);
        world.barrier();
      },
      {.wait_deadline = std::chrono::milliseconds(300)});
}

TEST_P(OnStream, SyncShowsWhatOthersPutBeforeIt) {
  run([](World& world) {
    const int right = (world.rank() + 1) % world.size(), left = (world.rank() + world.size() - 1) % world.size();
    constexpr std::size_t kCount = 1000;
    auto from = world.alloc<int>(kCount), to = world.alloc<int>(kCount);
    Stream stream = world.create_stream();
    for (int round = 0; round < 20; ++round) {
      const auto of = [&](int rank) { return std::vector<int>(kCount, 100 * round + rank); };
      from.write(of(world.rank()));
      if (round % world.size() == world.rank()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      on_stream::put(world, stream, world.team(), to.data(), from.data(), kCount, right);
      on_stream::sync(world, stream, world.team(), 5);
      stream.synchronize();
      EXPECT_EQ(to.read(), of(left)) << "round " << round;
      // Read, before the next round is put.
      on_stream::sync(world, stream, world.team(), 6);
      stream.synchronize();
    }
    world.barrier();
  });
}

// The last PE waits at an index where nobody else does, so all give up at the same time.
TEST_P(OnStream, SyncNamesWhoDoesNotCome) {
  run(
      [](World& world) {
        if (world.size() == 1) return;
        const int last = world.size() - 1;
        const bool is_last = world.rank() == last;
        for (const Order order : {Order::acq_rel, Order::relaxed}) {
          const int index = 2 * (order == Order::relaxed) + is_last;
          try {
            on_stream::sync(world, {}, world.team(), index, order);
            world.synchronize();
            ADD_FAILURE() << "no error";
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::timeout);
            EXPECT_EQ(error.peer(), is_last ? 0 : last) << error.what();
            EXPECT_NE(std::string(error.what()).find("sync at "), std::string::npos) << error.what();
            EXPECT_NE(std::string(error.what()).find("on_stream_test.cpp"), std::string::npos) << error.what();
          }
          world.barrier();
        }
      },
      {.wait_deadline = std::chrono::milliseconds(300)});
}

}  // namespace
}  // namespace isotope
