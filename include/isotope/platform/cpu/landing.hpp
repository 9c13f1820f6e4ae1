// Copies that land in shared memory on the CPU: the thread that asks makes the copy.
#pragma once

#include <cstdint>
#include <cstring>

#include "isotope/platform/cpu/atomic.hpp"
#include "isotope/platform/cpu/thread.hpp"
#include "isotope/platform/landing_by_word.hpp"

namespace isotope::cpu {

/// Whether copies land while the threads do something else.
inline constexpr bool kLandsByEngine = false;

/// By a thread that has acquired what is in global memory, before it asks for copies of it.
inline void before_landing() {}

struct LandingWord {
  static std::uint64_t look(const std::uint64_t* word) { return load<Order::acquire, Scope::block>(word); }
  static void count(std::uint64_t* word, std::uint64_t change) {
    fetch_add<Order::release, Scope::block>(word, change);
  }
  static void land(void* place, const void* src, std::uint32_t bytes, std::uint64_t* word) {
    std::memcpy(place, src, bytes);
    count(word, -std::uint64_t{bytes});
  }
  static void relax(std::uint32_t failed_polls) { cpu::relax(failed_polls); }
};
using Landing = LandingByWord<LandingWord>;

}  // namespace isotope::cpu
