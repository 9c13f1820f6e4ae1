// Numbers for tests of reductions: seeded, and of every type.
#pragma once

#include <cstdint>
#include <type_traits>

#include "isotope/base/float16.hpp"
#include "isotope/base/macros.hpp"

namespace isotope::testing {

template <class T>
constexpr bool kFloat = std::is_floating_point_v<T> || is_narrow_float<T>;

/// Numbers that look random, from a seed: splitmix64.
class Mixer {
 public:
  ISOTOPE_HD explicit Mixer(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u) {}
  ISOTOPE_HD std::uint64_t operator()() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

}  // namespace isotope::testing
