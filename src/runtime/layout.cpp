#include "runtime/layout.hpp"

#include <algorithm>
#include <bit>

#include "runtime/team_cell.hpp"

namespace isotope::runtime {

namespace {

#if defined(__SANITIZE_THREAD__)
// The thread sanitizer refuses mappings of terabytes.
constexpr std::uint64_t kAddressBudget = 1ull << 39;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr std::uint64_t kAddressBudget = 1ull << 39;
#else
constexpr std::uint64_t kAddressBudget = 1ull << 45;
#endif
#else
// A quarter of the 47 bits that user space has: several Worlds fit.
constexpr std::uint64_t kAddressBudget = 1ull << 45;
#endif

constexpr std::uint64_t kLeastRange = 1ull << 22;

}  // namespace

Layout make_layout(int pes, std::uint64_t largest_heap_max) {
  Layout layout;
  layout.control_bytes = kTeamCells * kTeamCellBytes;
  const std::uint64_t share = kAddressBudget / static_cast<std::uint64_t>(pes);
  const std::uint64_t most = std::bit_floor(std::max(share / 4, kLeastRange));
  layout.heap_bytes = std::clamp(std::bit_ceil(largest_heap_max), kLeastRange, most);
  layout.window_bytes = layout.heap_bytes;
  return layout;
}

}  // namespace isotope::runtime
