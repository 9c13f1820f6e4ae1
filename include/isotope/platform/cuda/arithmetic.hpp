// Instructions on several elements of a word at once.
#pragma once

#if defined(__CUDACC__)

#include <cstdint>
#include <type_traits>

#include "isotope/base/float16.hpp"
#include "isotope/platform/cuda/atomic.hpp"

namespace isotope::cuda {

template <class T>
inline constexpr bool kAddsPairs = false;
#if defined(__CUDA_ARCH__)
template <>
inline constexpr bool kAddsPairs<f16> = true;
// Before, bf16 is converted in software, which leaves NaNs their sign: not the bits of this instruction.
#if __CUDA_ARCH__ >= 900
template <>
inline constexpr bool kAddsPairs<bf16> = true;
#endif  // sm_90
#endif  // __CUDA_ARCH__

/// Two elements in 32 bits.
template <class T>
ISOTOPE_DEVICE std::uint32_t add_pair(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum;
  if constexpr (std::is_same_v<T, f16>) {
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
  } else {
    static_assert(std::is_same_v<T, bf16>);
    asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
  }
  return sum;
}

}  // namespace isotope::cuda

#endif  // __CUDACC__
