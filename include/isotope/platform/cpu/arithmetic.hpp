// Instructions on several elements of a word at once. None here: compilers make vectors of loops.
#pragma once

#include <cstdint>

namespace isotope::cpu {

/// Whether add_pair adds two elements of T in one instruction, each rounded once.
template <class T>
inline constexpr bool kAddsPairs = false;
template <class T>
std::uint32_t add_pair(std::uint32_t a, std::uint32_t b) = delete;

}  // namespace isotope::cpu
