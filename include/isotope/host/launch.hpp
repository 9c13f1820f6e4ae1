// What a launch is: its shape, and the type-erased call that the platform runs once per thread.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "isotope/base/call_site.hpp"
#include "isotope/base/dim3.hpp"
#include "isotope/base/gpu_kernel.hpp"
#include "isotope/host/stream.hpp"
#include "isotope/platform/cuda/launch.hpp"
#include "isotope/platform/platform.hpp"

namespace isotope {

struct LaunchConfig {
  Dim3 grid = 1;
  Dim3 block = 1;                // at most kMaxBlockThreads threads
  std::size_t shared_bytes = 0;  // dynamic shared memory of each block, at most kMaxSharedBytes
  Stream stream = {};            // empty: the World's default stream
  // On a GPU. On the CPU all blocks of a launch run together anyway, and these change nothing.
  /// The blocks may wait for each other or for other PEs, so all of them must fit on this PE's share of the GPU at
  /// once: a launch that does not is refused. A kernel that waits for nobody may say false and have any number of
  /// blocks.
  bool resident = true;
  bool cooperative = false;  // the driver starts all blocks or none
  Dim3 cluster = 1;          // blocks of a thread block cluster; all clusters must fit at once, as all blocks must
  /// Programmatic dependent launch: may come to the GPU while the kernel before it still runs, and calls
  /// await_previous_kernel (device/kernel_order.hpp) before it touches what that one does. Where both do not fit on
  /// this PE's share of the GPU at once, or PEs that are threads share one, or the kernel was compiled for GPUs before
  /// sm_90, which cannot wait there, it follows as always.
  bool programmatic = false;
};

inline constexpr std::uint64_t kMaxBlockThreads = 1024;
inline constexpr std::size_t kMaxSharedBytes = 256 * 1024;

namespace detail {

template <class F>
struct KernelTraits;
template <class... P>
struct KernelTraits<void (*)(P...)> {
  using Arguments = std::tuple<std::remove_cv_t<P>...>;
  static constexpr bool by_value =
      (std::is_trivially_copyable_v<std::remove_cv_t<P>> && ...) && (!std::is_reference_v<P> && ...);

  /// How a GPU runs it; empty in a file that was not compiled for one.
  template <auto Kernel, int MaxThreads, bool Gpu>
  static GpuKernel on_gpu() {
#if ISOTOPE_GPU_COMPILER
    return cuda::gpu_kernel<Kernel, MaxThreads, std::remove_cv_t<P>...>();
#else
    return {};
#endif  // ISOTOPE_GPU_COMPILER
  }
};

/// The kernel's parameters as the driver takes them: the address of each.
template <class Tuple>
auto addresses_of(Tuple& bound) {
  return std::apply([](auto&... each) { return std::array<void*, sizeof...(each) + 1>{&each...}; }, bound);
}

/// The arguments as the kernel takes them: a tuple of its parameters.
template <auto Kernel, class... A>
auto bind_arguments(A&&... arguments) {
  using Traits = KernelTraits<decltype(Kernel)>;
  static_assert(Traits::by_value, "kernel parameters are passed by value and must be trivially copyable");
  static_assert(std::is_constructible_v<typename Traits::Arguments, A&&...>,
                "these arguments do not convert to the kernel's parameters");
  return typename Traits::Arguments(std::forward<A>(arguments)...);
}

/// What the compiler calls this function: the kernel's name is in it.
template <auto Kernel>
const char* kernel_text() {
  return __PRETTY_FUNCTION__;
}

/// The function to run on each thread of the launch, arguments bound by value.
template <auto Kernel, class... A>
std::function<void()> bind_kernel(A&&... arguments) {
  return [bound = bind_arguments<Kernel>(std::forward<A>(arguments)...)] {
    platform::name_kernel(kernel_text<Kernel>());
    std::apply(Kernel, bound);
  };
}

}  // namespace detail

}  // namespace isotope
