// Copies that land in shared memory under the checker: they travel by themselves, as a GPU's engine makes them, and may
// read their source at any time until somebody has awaited them.
#pragma once

#include <cstdint>
#include <cstring>

#include "isotope/platform/landing_by_word.hpp"
#include "isotope/platform/sim/atomic.hpp"
#include "isotope/platform/sim/thread.hpp"

namespace isotope::sim {

struct LandingWord {
  // Of more than the block: a copy is no thread of it.
  static std::uint64_t look(const std::uint64_t* word) { return load<Order::acquire, Scope::system>(word); }
  static void count(std::uint64_t* word, std::uint64_t change) {
    fetch_add<Order::release, Scope::system>(word, change);
  }
  static void land(void* place, const void* src, std::uint32_t bytes, std::uint64_t* word) {
    if (put_signal_later(true, place, src, bytes, word, -std::uint64_t{bytes}, SignalOp::add)) return;
    std::memcpy(place, src, bytes);  // outside any kernel
    count(word, -std::uint64_t{bytes});
  }
  static void relax(std::uint32_t failed_polls) { cpu::relax(failed_polls); }
};
using Landing = LandingByWord<LandingWord>;

}  // namespace isotope::sim
