// A three-dimensional extent or index, as in CUDA. An integer converts: {.grid = 4} means 4 x 1 x 1.
#pragma once

#include <cstdint>

#include "isotope/base/macros.hpp"

namespace isotope {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;

  constexpr Dim3() = default;
  ISOTOPE_HD constexpr Dim3(std::uint32_t x_, std::uint32_t y_ = 1, std::uint32_t z_ = 1) : x(x_), y(y_), z(z_) {}

  ISOTOPE_HD constexpr std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  /// Index of the `rank`-th element, x fastest.
  ISOTOPE_HD constexpr Dim3 index_of(std::uint32_t rank) const { return {rank % x, rank / x % y, rank / x / y}; }
  friend ISOTOPE_HD constexpr bool operator==(Dim3 a, Dim3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
};

}  // namespace isotope
