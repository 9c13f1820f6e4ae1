// Kernels over several PEs: puts, signals and waits between kernels of different PEs, on streams, with PEs out of step.
#include <chrono>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/job_shape.hpp"
#include "support/symmetric.hpp"

namespace isotope {
namespace {

class LaunchTest : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(LaunchTest);

// Each round every PE sends a block that depends on sender, round and place to its right neighbour. Two slots, with an
// acknowledgement.
ISOTOPE_KERNEL void shift(Team team, Span<std::uint32_t> inbox, Span<std::uint32_t> outbox, Epoch arrived, Epoch taken,
                          Span<std::uint64_t> errors) {
  auto block = this_block();
  const int right = (team.rank() + 1) % team.size(), left = (team.rank() + team.size() - 1) % team.size();
  const std::uint64_t round = arrived.next(block);
  const auto pattern = [&](int pe, std::size_t i) {
    return static_cast<std::uint32_t>(round * 1000003 + static_cast<std::uint64_t>(pe) * 7919 + i);
  };
  for (std::size_t i = block.thread_rank(); i < outbox.size(); i += block.size()) outbox[i] = pattern(team.rank(), i);
  block.sync();
  // The neighbour has read what I sent a round ago.
  if (!wait_until(block, team, taken.signal(), Cmp::ge, round - 1, Order::acquire, right)) return;
  put_signal(block, team, inbox, outbox, arrived.signal(), 1, SignalOp::add, right);
  if (!wait_until(block, team, arrived.signal(), Cmp::ge, round, Order::acquire, left)) return;
  std::uint64_t wrong = 0;
  for (std::size_t i = block.thread_rank(); i < inbox.size(); i += block.size()) wrong += inbox[i] != pattern(left, i);
  fetch_add(&errors[0], wrong);
  signal(block, team, taken.signal(), 1, SignalOp::add, left);
}

ISOTOPE_KERNEL void look(Epoch epoch, std::uint64_t* value) { *value = signal_fetch(epoch.signal()); }

/// What an epoch's signal has counted to. Collective.
std::uint64_t value_of(World& world, const OwnedEpoch& epoch) {
  auto value = world.alloc<std::uint64_t>(1);
  world.launch<look>({}, epoch.get(), value.data());
  world.synchronize();
  return value.get(0);
}

TEST_P(LaunchTest, SaysBeforehandWhatFits) {
  run([](World& world) {
    EXPECT_TRUE(world.fits<look>({}));
    // More blocks than a GPU can hold are refused by launch, and told here. On the CPU all fit.
    const LaunchConfig many{.grid = 1u << 20, .block = 32};
    EXPECT_EQ(world.fits<look>(many), !world.drives_gpu());
    const LaunchConfig roomy{.shared_bytes = kMaxSharedBytes};
    EXPECT_EQ(world.fits<look>(roomy), !world.drives_gpu());
  });
}

TEST_P(LaunchTest, RoundsOfPutsWithSkewedPes) {
  run([](World& world) {
    for (const std::uint32_t threads : {1u, 32u, 48u, 128u}) {
      for (const std::size_t n : {1u, 7u, 1000u, 20000u}) {
        auto inbox = world.alloc<std::uint32_t>(n), outbox = world.alloc<std::uint32_t>(n);
        testing::fill(inbox, 0xdeadbeefu);
        auto errors = world.alloc_zeroed<std::uint64_t>(1);
        auto arrived = world.alloc_epoch(), taken = world.alloc_epoch();
        std::minstd_rand random(static_cast<unsigned>(world.rank() * 17 + 3));
        world.barrier();
        for (int round = 0; round < 10; ++round) {
          if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
          world.launch<shift>({.grid = 1, .block = threads}, world.team(), inbox.span(), outbox.span(), arrived.get(),
                              taken.get(), errors.span());
          if (random() % 4 == 0) world.synchronize();
        }
        world.synchronize();
        EXPECT_EQ(errors.get(0), 0u) << threads << " threads, " << n << " elements";
        EXPECT_EQ(value_of(world, arrived), 10u);
        world.barrier();
      }
    }
  });
}

// Every block talks to the block with its index on the next PE; all blocks of a launch are resident, whatever their
// order.
ISOTOPE_KERNEL void block_ring(Team team, Span<Signal> flags, Span<std::uint64_t> tokens) {
  auto block = this_block();
  const std::size_t b = block.rank();
  const int right = (team.rank() + 1) % team.size();
  if (team.rank() != 0 && !wait_until(block, team, &flags[b], Cmp::ge, 1)) return;
  const std::uint64_t token = team.rank() == 0 ? 5000 + b : tokens[b];
  if (block.is_leader()) *team.at(&tokens[b], right) = token + 1;
  signal(block, team, &flags[b], 1, SignalOp::add, right);
  if (team.rank() == 0) (void)wait_until(block, team, &flags[b], Cmp::ge, 1);
}

TEST_P(LaunchTest, ManyBlocksWaitForOtherPes) {
  run([](World& world) {
    auto flags = world.alloc_zeroed<Signal>(64);
    auto tokens = world.alloc_zeroed<std::uint64_t>(64);
    world.launch<block_ring>({.grid = 64, .block = 32}, world.team(), flags.span(), tokens.span());
    world.synchronize();
    if (world.rank() == 0) {
      const std::vector<std::uint64_t> found = tokens.read();
      for (std::size_t b = 0; b < 64; ++b) EXPECT_EQ(found[b], 5000 + b + static_cast<std::uint64_t>(world.size()));
    }
    world.barrier();
  });
}

ISOTOPE_KERNEL void send_one(Team team, Epoch e, int to) {
  signal(this_block(), team, e.signal(), 1, SignalOp::add, to);
}
ISOTOPE_KERNEL void await_one(Team team, Epoch e) {
  (void)wait_until(this_block(), team, e.signal(), Cmp::ge, e.next(this_block()));
}

// Two streams of one PE wait for each other; work starts without a synchronize.
TEST_P(LaunchTest, StreamsRunBesideEachOther) {
  const bool pes_are_threads = GetParam().threads;
  run([pes_are_threads](World& world) {
    // Threads that share a GPU have one launch under way on a stream (docs/gpu.md): what it waits for must be on its
    // way before the next one.
    const bool one_at_a_time = pes_are_threads && world.drives_gpu();
    Stream a = world.create_stream(), b = world.create_stream();
    auto ping = world.alloc_epoch(), pong = world.alloc_epoch();
    for (int round = 0; round < 5; ++round) {
      world.launch<await_one>({.stream = a}, world.team(), ping.get());
      if (!one_at_a_time) world.launch<send_one>({.stream = a}, world.team(), pong.get(), world.rank());
      world.launch<send_one>({.stream = b}, world.team(), ping.get(), world.rank());
      if (one_at_a_time) world.launch<send_one>({.stream = a}, world.team(), pong.get(), world.rank());
      world.launch<await_one>({.stream = b}, world.team(), pong.get());
    }
    a.synchronize();
    b.synchronize();
    world.launch<send_one>({.stream = a}, world.team(), ping.get(), world.rank());
    const auto start = std::chrono::steady_clock::now();
    while (!a.idle() && std::chrono::steady_clock::now() - start < std::chrono::seconds(10)) std::this_thread::yield();
    EXPECT_TRUE(a.idle()) << "work never started by itself";
    EXPECT_EQ(value_of(world, ping), 6u);
    world.synchronize();
    world.barrier();
  });
}

/// Threads of this process.
std::size_t threads_now() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) count += entry.exists();
  return count;
}

// A stream on the CPU has a thread, once it has worked by itself.
TEST_P(LaunchTest, StreamsGoWithTheirLastHandle) {
  run([](World& world) {
    world.barrier();
    const std::size_t before = threads_now();
    auto flag = world.alloc_epoch();
    constexpr std::uint64_t kStreams = 60;
    for (std::uint64_t i = 0; i < kStreams; ++i) {
      Stream stream = world.create_stream();
      world.launch<send_one>({.stream = stream}, world.team(), flag.get(), world.rank());
      const auto start = std::chrono::steady_clock::now();
      while (!stream.idle() && std::chrono::steady_clock::now() - start < std::chrono::seconds(10))
        std::this_thread::yield();
    }
    if (!world.drives_gpu()) {
      EXPECT_LE(threads_now(), before + 6 * static_cast<std::size_t>(world.size()));
    }
    world.synchronize();
    EXPECT_EQ(value_of(world, flag), kStreams);
    // What a dropped stream still had to do is done, and what it had to tell is told.
    for (int i = 0; i < 3; ++i) {
      Stream stream = world.create_stream();
      world.launch<send_one>({.stream = stream}, world.team(), flag.get(), world.rank());
      if (i == 1) stream.call([] { throw std::runtime_error("of a stream that is gone"); });
    }
    try {
      world.synchronize();
      ADD_FAILURE() << "nothing was told";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("of a stream that is gone"), std::string::npos) << error.what();
    }
    EXPECT_EQ(value_of(world, flag), kStreams + 3);
    world.synchronize();
    world.barrier();
  });
}

ISOTOPE_KERNEL void throws(int pe, int who) {
#if defined(__CUDA_ARCH__)
  static_cast<void>(pe == who);  // a GPU knows no exceptions
#else
  if (pe == who) throw std::runtime_error("a kernel's own complaint");
#endif  // __CUDA_ARCH__
}

TEST_P(LaunchTest, AnExceptionInAKernelComesOutOfSynchronize) {
  run([](World& world) {
    if (world.drives_gpu()) GTEST_SKIP() << "kernels on a GPU throw nothing";
    world.launch<throws>({.grid = 2, .block = 4}, world.rank(), world.rank());
    try {
      world.synchronize();
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kernel_failed);
      EXPECT_NE(std::string(error.what()).find("a kernel's own complaint"), std::string::npos) << error.what();
    }
    world.launch<throws>({}, world.rank(), -1);
    EXPECT_NO_THROW(world.synchronize()) << "the next launch is not harmed";
    world.barrier();
  });
}

TEST_P(LaunchTest, BadShapesAreRefusedAtTheLaunch) {
  run([](World& world) {
    const auto code_of = [&](const LaunchConfig& config) {
      try {
        world.launch<throws>(config, 0, -1);
      } catch (const Error& error) {
        return error.code();
      }
      return Code::ok;
    };
    EXPECT_EQ(code_of({.grid = 0}), Code::invalid_argument);
    EXPECT_EQ(code_of({.block = 1025}), Code::invalid_argument);
    EXPECT_EQ(code_of({.grid = 1000, .block = 1024}), Code::invalid_argument);
    EXPECT_EQ(code_of({.shared_bytes = 1u << 30}), Code::invalid_argument);
    EXPECT_EQ(code_of({.grid = {2, 2, 2}, .block = {4, 4, 2}}), Code::ok);
    world.synchronize();
  });
}

}  // namespace
}  // namespace isotope
