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
#if __CUDA_ARCH__ >= 800
template <>
inline constexpr bool kAddsPairs<bf16> = true;
#endif  // sm_80
#endif  // __CUDA_ARCH__

/// Two elements in 32 bits. Of bf16 by a multiplication with 1, which changes nothing: sums alone came with sm_90.
template <class T>
ISOTOPE_DEVICE std::uint32_t add_pair(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum;
  if constexpr (std::is_same_v<T, f16>) {
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
  } else {
    static_assert(std::is_same_v<T, bf16>);
    asm("fma.rn.bf16x2 %0, %1, %3, %2;" : "=r"(sum) : "r"(a), "r"(b), "r"(0x3f803f80u));
  }
  return sum;
}

}  // namespace isotope::cuda

#endif  // __CUDACC__
