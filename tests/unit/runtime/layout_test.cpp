// Slots fit the address space at any number of PEs, and hold what was asked for where they can.
#include "runtime/layout.hpp"

#include <gtest/gtest.h>

namespace isotope::runtime {
namespace {

TEST(Layout, HoldsTheHeapAskedFor) {
  const Layout layout = make_layout(8, 3ull << 30);
  EXPECT_GE(layout.heap_bytes, 3ull << 30);
  EXPECT_EQ(layout.window_bytes, layout.heap_bytes);
  EXPECT_EQ(layout.slot_bytes(), layout.control_bytes + layout.heap_bytes + layout.window_bytes);
}

TEST(Layout, StaysInsideTheAddressSpace) {
  for (const int pes : {1, 2, 8, 64, 1024, 4096}) {
    for (const std::uint64_t heap : {1ull << 16, 1ull << 30, 1ull << 40, 1ull << 46}) {
      const Layout layout = make_layout(pes, heap);
      EXPECT_LT(layout.slot_bytes() * static_cast<std::uint64_t>(pes), 1ull << 46) << pes << " PEs, " << heap;
      EXPECT_EQ(layout.slot_bytes() % (2u << 20), 0u) << "slots start at huge-page boundaries";
    }
  }
}

}  // namespace
}  // namespace isotope::runtime
