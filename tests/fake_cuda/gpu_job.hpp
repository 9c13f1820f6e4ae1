// Runs a test body on every PE of a job whose PEs drive the fake driver's GPUs, and looks at what is left afterwards.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <thread>

#include "fake_cuda.hpp"
#include "support/job_shape.hpp"

namespace isotope::testing {

/// Runs `pe_main` on every PE of a job that does not end well by itself: without a World, or with one that was given
/// up. Whoever ends first then ends the job, so PEs wait for each other, and tell of what they found wrong beside the
/// exit status. Each leaves nothing behind.
inline void run_to_a_bad_end(const JobShape& shape, const std::function<void()>& pe_main) {
  if (shape.threads) {
    run_threads(shape.pes, pe_main);
    EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{});
    return;
  }
  struct Count {
    std::atomic<int> ended{0}, wrong{0};
  };
  void* page = ::mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* count = new (page) Count;
  constexpr int kBadEnd = 7;
  const JobResult result = run_processes({.pes = shape.pes, .timeout = std::chrono::seconds(60)}, [&] {
    pe_main();
    EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{}) << "a PE left something";
    count->wrong += ::testing::Test::HasFailure();
    ++count->ended;
    const auto start = std::chrono::steady_clock::now();
    while (count->ended < shape.pes && std::chrono::steady_clock::now() - start < std::chrono::seconds(30))
      std::this_thread::yield();
    return kBadEnd;
  });
  EXPECT_EQ(result.exit_code, kBadEnd) << result.message;
  EXPECT_EQ(count->ended, shape.pes);
  EXPECT_EQ(count->wrong, 0) << "PEs that said what above";
  ::munmap(page, sizeof(Count));
}

class GpuJobTest : public JobTest {
 protected:
  void SetUp() override {
    ::setenv("ISOTOPE_PLATFORM", "cuda", 1);
    fake_cuda::reset({});
  }
  void TearDown() override { EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{}) << "PEs as threads left something"; }

  /// With PEs as processes each looks at what it leaves, when its World is gone.
  void run(const std::function<void(World&)>& body, const InitOptions& options = {}) {
    const JobShape shape = GetParam();
    const auto pe_main = [&] {
      World world = init(options);
      ASSERT_EQ(world.size(), shape.pes);
      body(world);
    };
    if (shape.threads) {
      ASSERT_NO_THROW(run_threads(shape.pes, pe_main));
      return;
    }
    const JobResult result = run_processes({.pes = shape.pes, .timeout = std::chrono::seconds(60)}, [&] {
      pe_main();
      EXPECT_EQ(fake_cuda::live(), fake_cuda::Live{}) << "a PE left something";
      return ::testing::Test::HasFailure() ? 1 : 0;
    });
    EXPECT_EQ(result.exit_code, 0) << result.message;
  }

  /// What a job says on standard error.
  std::string said_by(const std::function<void(World&)>& body) {
    ::testing::internal::CaptureStderr();
    run(body);
    return ::testing::internal::GetCapturedStderr();
  }
  static int lines_with(const std::string& text, const std::string& part) {
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  }

  /// What there is between two barriers: nobody is about to make or drop anything.
  static fake_cuda::Live live_on_all(World& world) {
    world.barrier();
    const fake_cuda::Live live = fake_cuda::live();
    world.barrier();
    return live;
  }

  /// The code and text that `call` throws on this PE.
  template <class F>
  static std::pair<Code, std::string> error_of(F&& call) {
    try {
      call();
    } catch (const Error& error) {
      return {error.code(), error.what()};
    }
    return {Code::ok, "no error"};
  }
};

}  // namespace isotope::testing
