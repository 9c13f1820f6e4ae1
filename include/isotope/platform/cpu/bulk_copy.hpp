// Copies through shared memory by an engine beside the threads: a CPU has none, and its copies need no scratch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/platform/cpu/copy.hpp"

namespace isotope::cpu {

/// Whether bulk_copy_share is worth calling for this copy.
inline bool can_bulk_copy(const void*, const void*, std::size_t, const void*, std::size_t) { return false; }

/// Every thread of the group, before the group meets for a bulk copy.
inline void begin_bulk_copy() {}

/// This thread's part of the copy. The group meets before and after.
inline void bulk_copy_share(void* dst, const void* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size,
                            void*, std::size_t) {
  copy_share(dst, src, bytes, rank, size);
}

}  // namespace isotope::cpu
