// What a launch is: its shape, and the type-erased call that the platform runs once per thread.
#pragma once

#include <cstddef>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "isotope/base/call_site.hpp"
#include "isotope/base/dim3.hpp"
#include "isotope/host/stream.hpp"

namespace isotope {

struct LaunchConfig {
  Dim3 grid = 1;
  Dim3 block = 1;                // at most kMaxBlockThreads threads
  std::size_t shared_bytes = 0;  // dynamic shared memory of each block, at most kMaxSharedBytes
  Stream stream = {};            // empty: the World's default stream
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
};

/// The function to run on each thread of the launch, arguments bound by value.
template <auto Kernel, class... A>
std::function<void()> bind_kernel(A&&... arguments) {
  using Traits = KernelTraits<decltype(Kernel)>;
  static_assert(Traits::by_value, "kernel parameters are passed by value and must be trivially copyable");
  static_assert(std::is_constructible_v<typename Traits::Arguments, A&&...>,
                "these arguments do not convert to the kernel's parameters");
  return [bound = typename Traits::Arguments(std::forward<A>(arguments)...)] { std::apply(Kernel, bound); };
}

}  // namespace detail

}  // namespace isotope
