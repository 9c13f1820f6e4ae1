// Lines of 128 bytes by the lanes of a warp, on platforms where nothing that wide lands whole by itself: the line's
// last lane moves all of it, and its last word, which is the flag, is ordered. A GPU's are in cuda/line.hpp.
//
//   store_line_part(at, part)   this lane's 16 bytes of a line; its last 8 are the flag
//   load_line_part(at, flag)    this lane's 16 bytes, of the store that brought `flag` if the line has that
//
// Of a line with another flag, the flag alone says anything: a load never waits.
//
// Called by all 32 lanes of a warp together, each with 16 bytes of its own: lanes 0 to 7 have one line between them, 8
// to 15 the next one, and so on. A line begins at a multiple of 128 bytes.
#pragma once

#include <cstdint>

#include "isotope/base/bits.hpp"
#include "isotope/base/order.hpp"

namespace isotope {

/// `Memory`: load<Order>(word), store<Order>(word, value), exchange(value, lane) as warp_exchange of all lanes, lane().
template <class Memory>
struct LineByExchange {
  static void store(Bits128* at, Bits128 part) {
    Bits128 line[kLanes];
    for (std::uint32_t k = 0; k < kLanes; ++k) line[k] = from(part, first() + k);
    if (Memory::lane() % kLanes != kLast) return;
    Bits128* begin = at - kLast;
    for (std::uint32_t k = 0; k < kLanes; ++k) {
      Memory::template store<Order::relaxed>(&begin[k].low, line[k].low);
      if (k != kLast) Memory::template store<Order::relaxed>(&begin[k].high, line[k].high);
    }
    Memory::template store<Order::release>(&at->high, part.high);
  }

  static Bits128 load(const Bits128* at, std::uint64_t flag) {
    Bits128 line[kLanes] = {};
    if (Memory::lane() % kLanes == kLast) {
      const Bits128* begin = at - kLast;
      line[kLast].high = Memory::template load<Order::acquire>(&at->high);
      for (std::uint32_t k = 0; line[kLast].high == flag && k < kLanes; ++k) {
        line[k].low = Memory::template load<Order::relaxed>(&begin[k].low);
        if (k != kLast) line[k].high = Memory::template load<Order::relaxed>(&begin[k].high);
      }
    }
    Bits128 mine;
    for (std::uint32_t k = 0; k < kLanes; ++k) {
      const Bits128 theirs = from(line[k], first() + kLast);
      if (Memory::lane() % kLanes == k) mine = theirs;
    }
    return mine;
  }

 private:
  static constexpr std::uint32_t kLanes = 8, kLast = kLanes - 1;

  static std::uint32_t first() { return Memory::lane() / kLanes * kLanes; }
  static Bits128 from(Bits128 value, std::uint32_t lane) {
    return {Memory::exchange(value.low, lane), Memory::exchange(value.high, lane)};
  }
};

}  // namespace isotope
