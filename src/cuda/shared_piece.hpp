// How memory that one process has is named to another. Plain data: it travels in exchanges, and needs no header of
// CUDA.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace isotope::cuda {

/// One piece of a PE's memory, as the other PEs get at it.
struct SharedPiece {
  std::uint64_t bytes = 0;
  std::int32_t descriptor = -1;  // in the table of the process that has it
  std::int32_t fabric =
      0;  // not 0: `name` counts instead, a handle that CUDA takes on every machine of an NVLink domain
  std::array<std::byte, 64> name{};

  /// Whether there is anything to map.
  bool there() const noexcept { return descriptor >= 0 || fabric != 0; }
};

}  // namespace isotope::cuda
