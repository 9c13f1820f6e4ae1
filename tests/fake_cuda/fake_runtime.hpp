// What the CUDA runtime would say of a kernel, and a way to launch one that no compiler made: the test says it.
//
//   t_runtime = {.blocks = 1};
//   launch_as_compiled(world, {.grid = 4, .block = 128}, fresh_kernel());
//   t_runtime.launches.back()
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "isotope/base/gpu_kernel.hpp"
#include "isotope/isotope.hpp"

namespace isotope {

void launch_as_compiled(World& world, const LaunchConfig& config, const detail::GpuKernel& kernel);
bool fits_as_compiled(const World& world, const LaunchConfig& config, const detail::GpuKernel& kernel);
// An explicit instantiation may name what is private.
template <auto Launch, auto Fits>
struct Reveal {
  friend void launch_as_compiled(World& world, const LaunchConfig& config, const detail::GpuKernel& kernel) {
    (world.*Launch)(config, kernel, nullptr);
  }
  friend bool fits_as_compiled(const World& world, const LaunchConfig& config, const detail::GpuKernel& kernel) {
    return (world.*Fits)(config, kernel);
  }
};
template struct Reveal<&World::enqueue_gpu, &World::fits_gpu>;

namespace testing {

/// What the runtime says of a kernel, and what came of it. One PE of a process launches at a time.
struct Runtime {
  int blocks = 2, clusters = 30, version = 90, launch_error = 0, room_error = 0, asked = 0;
  std::size_t local_bytes = 0;
  std::vector<detail::GpuLaunch> launches = {};
};
inline Runtime t_runtime;

inline constexpr detail::GpuCalls kCalls{
    [](const void*, const detail::GpuLaunch& how, void**) {
      if (t_runtime.launch_error == 0) t_runtime.launches.push_back(how);
      return t_runtime.launch_error;
    },
    [](const void*, const detail::GpuLaunch&, int* blocks) {
      ++t_runtime.asked;
      *blocks = t_runtime.blocks;
      return t_runtime.room_error;
    },
    [](int) { return "the runtime's words"; },
    [](const void*, const detail::GpuLaunch&, int* clusters) {
      *clusters = t_runtime.clusters;
      return 0;
    },
    [](const void*, int* version) {
      *version = t_runtime.version;
      return 0;
    },
    [](const void*, std::size_t* bytes) {
      *bytes = t_runtime.local_bytes;
      return 0;
    },
};

/// A kernel that nobody has asked about yet.
inline detail::GpuKernel fresh_kernel() {
  static std::array<char, 256> entries;
  static std::atomic<std::size_t> next{0};
  return {&entries.at(next++), &kCalls, 1024};
}

}  // namespace testing
}  // namespace isotope
