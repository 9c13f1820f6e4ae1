// As on the CPU.
#pragma once

#include <cstdint>

namespace isotope::sim {

template <class T>
inline constexpr bool kAddsPairs = false;
template <class T>
std::uint32_t add_pair(std::uint32_t a, std::uint32_t b) = delete;

}  // namespace isotope::sim
