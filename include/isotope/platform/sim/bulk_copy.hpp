// Copies through shared memory under the checker: ordinary ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/platform/sim/copy.hpp"

namespace isotope::sim {

ISOTOPE_SIM_FUNCTION bool can_bulk_copy(const void*, const void*, std::size_t, const void*, std::size_t) {
  return false;
}
ISOTOPE_SIM_FUNCTION void begin_bulk_copy() {}
ISOTOPE_SIM_FUNCTION void bulk_copy_share(void* dst, const void* src, std::size_t bytes, std::uint32_t rank,
                                          std::uint32_t size, void*, std::size_t) {
  copy_share(dst, src, bytes, rank, size);
}

}  // namespace isotope::sim
