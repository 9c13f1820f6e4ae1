// Launches as nvcc compiles them, in a test that it does not compile: what the CUDA runtime would say the test says.
#pragma once

#include "isotope/base/gpu_kernel.hpp"
#include "isotope/host/world.hpp"

namespace isotope {

void launch_as_compiled(World& world, const LaunchConfig& config, const detail::GpuKernel& kernel);
template <auto Launch>
struct Reveal {
  friend void launch_as_compiled(World& world, const LaunchConfig& config, const detail::GpuKernel& kernel) {
    (world.*Launch)(config, kernel, nullptr);
  }
};
template struct Reveal<&World::enqueue_gpu>;

}  // namespace isotope
