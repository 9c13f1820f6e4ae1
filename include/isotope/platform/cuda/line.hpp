// Lines of 128 bytes by the lanes of a warp on a GPU (platform/line_by_exchange.hpp says what each call is): one
// instruction stores four of them, one loads them, and nothing is ordered by a fence.
#pragma once

#if defined(__CUDACC__)

#include <cstdint>

#include "isotope/base/macros.hpp"
#include "isotope/platform/cuda/atomic.hpp"

namespace isotope::cuda {

// PTX promises 16 bytes and no more. That the 128 of a line, stored by one instruction, are seen all or not at all by
// another that loads them is what NCCL's LL128 rests on between GPUs. tests/multi/collective_lines_test.cpp looks for
// lines that came in pieces.
inline constexpr bool kLinesLandWhole = ISOTOPE_LINES_LAND_WHOLE != 0;

// In step, or one instruction becomes several.
ISOTOPE_DEVICE void store_line_part(Bits128* at, Bits128 part) {
  __syncwarp(0xffffffffu);
  store16(at, part);
}
ISOTOPE_DEVICE Bits128 load_line_part(const Bits128* at, std::uint64_t) {
  __syncwarp(0xffffffffu);
  return load16(at);
}

}  // namespace isotope::cuda

#endif  // __CUDACC__
