// Lines by the lanes of a warp on the CPU (line_by_exchange.hpp).
#pragma once

#include <cstdint>

#include "isotope/platform/cpu/atomic.hpp"
#include "isotope/platform/cpu/thread.hpp"
#include "isotope/platform/line_by_exchange.hpp"

namespace isotope::cpu {

/// Whether lines are as cheap as the words they are made of, so that it pays to send them so.
inline constexpr bool kLinesLandWhole = false;

struct LineMemory {
  template <Order O>
  static std::uint64_t load(const std::uint64_t* word) {
    return cpu::load<O, Scope::system>(word);
  }
  template <Order O>
  static void store(std::uint64_t* word, std::uint64_t value) {
    cpu::store<O, Scope::system>(word, value);
  }
  static std::uint64_t exchange(std::uint64_t value, std::uint32_t lane) {
    return warp_exchange(0xffffffffu, value, lane);
  }
  static std::uint32_t lane() { return thread_rank() % kWarpSize; }
};

inline void store_line_part(Bits128* at, Bits128 part) { LineByExchange<LineMemory>::store(at, part); }
inline Bits128 load_line_part(const Bits128* at, std::uint64_t flag) {
  return LineByExchange<LineMemory>::load(at, flag);
}

}  // namespace isotope::cpu
