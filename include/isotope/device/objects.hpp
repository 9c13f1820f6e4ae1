// Which symmetric objects exist, as a kernel can look it up: what the checked build holds every address against.
//
// The host writes the table (one per PE and World) while kernels read it, so it carries a version that is odd while it
// changes; readers try again.
#pragma once

#include <cstdint>

#include "isotope/base/macros.hpp"
#include "isotope/device/memory.hpp"

namespace isotope {

struct ObjectRange {
  std::uint64_t begin = 0;  // this PE's address of it
  std::uint64_t bytes = 0;
};

struct ObjectTable {
  std::uint64_t version = 0;
  std::uint64_t count = 0;
  std::uint64_t ranges = 0;  // address of an array of ObjectRange: sorted by begin, no two overlap. Never freed
  std::uint64_t last = 0;    // index of the last range found: most calls name the same few objects
};

namespace detail {

ISOTOPE_FLAT ObjectRange range_at(std::uint64_t ranges, std::uint64_t i) {
  const auto* range = reinterpret_cast<const ObjectRange*>(ranges) + i;
  return {load(&range->begin), load(&range->bytes)};
}

/// The object that holds `address`; bytes = 0 when there is none. By one thread.
ISOTOPE_HD ObjectRange find_object(ObjectTable& table, std::uint64_t address) {
  [[maybe_unused]] const platform::Bookkeeping bookkeeping;
  for (std::uint32_t tries = 1;; ++tries) {
    const std::uint64_t version = load(&table.version, Order::acquire);
    const std::uint64_t count = load(&table.count), ranges = load(&table.ranges);
    fence(Order::acquire);
    // Only a count and an array that belong together may be used.
    if (version % 2 == 0 && load(&table.version) == version) {
      const std::uint64_t last = load(&table.last);
      ObjectRange found = last < count ? range_at(ranges, last) : ObjectRange{};
      if (address - found.begin >= found.bytes) {
        std::uint64_t low = 0;
        for (std::uint64_t left = count; left > 0;) {  // the first range that begins after the address
          const std::uint64_t half = left / 2;
          if (range_at(ranges, low + half).begin <= address) {
            low += half + 1;
            left -= half + 1;
          } else {
            left = half;
          }
        }
        found = low > 0 ? range_at(ranges, low - 1) : ObjectRange{};
        if (address - found.begin >= found.bytes) {
          found = {};
        } else {
          store(&table.last, low - 1);
        }
      }
      fence(Order::acquire);
      if (load(&table.version) == version) return found;
    }
    platform::relax(tries);
  }
}

}  // namespace detail

}  // namespace isotope
