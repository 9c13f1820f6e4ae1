// Where things lie in the address reservation of a World: one slot per PE, all alike.
//
//   | control | heap ............ | window ............ |   slot of PE 0, `slot_bytes` long
//   | control | heap ............ | window ............ |   slot of PE 1
//
// control: the cells of teams. heap: symmetric objects; grows on demand. Both are ranges of the PE's one shared file,
// which the whole slot front maps from the start: growing the file is all it takes to grow the heap, on every PE at
// once. window: memory that users register.
#pragma once

#include <cstdint>

namespace isotope::runtime {

struct Layout {
  std::uint64_t control_bytes = 0;
  std::uint64_t heap_bytes = 0;
  std::uint64_t window_bytes = 0;

  std::uint64_t heap_offset() const { return control_bytes; }
  std::uint64_t window_offset() const { return control_bytes + heap_bytes; }
  std::uint64_t slot_bytes() const { return control_bytes + heap_bytes + window_bytes; }
};

/// The least ISOTOPE_HEAP_MAX that is accepted.
inline constexpr std::uint64_t kMinHeapBytes = 64 * 1024;

/// A layout whose heap range holds `largest_heap_max` bytes if the address space allows it for `pes` slots, and less
/// otherwise.
Layout make_layout(int pes, std::uint64_t largest_heap_max);

}  // namespace isotope::runtime
