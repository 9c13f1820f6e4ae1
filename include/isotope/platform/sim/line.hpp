// Lines by the lanes of a warp under the checker, which sees each word of them (line_by_exchange.hpp).
#pragma once

#include <cstdint>

#include "isotope/platform/cpu/line.hpp"
#include "isotope/platform/sim/atomic.hpp"
#include "isotope/platform/sim/thread.hpp"

namespace isotope::sim {

struct LineMemory : cpu::LineMemory {
  template <Order O>
  static std::uint64_t load(const std::uint64_t* word) {
    return sim::load<O, Scope::system>(word);
  }
  template <Order O>
  static void store(std::uint64_t* word, std::uint64_t value) {
    sim::store<O, Scope::system>(word, value);
  }
};

inline void store_line_part(Bits128* at, Bits128 part) { LineByExchange<LineMemory>::store(at, part); }
inline Bits128 load_line_part(const Bits128* at, std::uint64_t flag) {
  return LineByExchange<LineMemory>::load(at, flag);
}

}  // namespace isotope::sim
