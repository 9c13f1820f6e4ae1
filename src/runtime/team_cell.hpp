// The words of one team on one PE, in the control range of the PE's slot: cell `id` of a team lies at the same place on
// every member.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "isotope/device/control.hpp"

namespace isotope::runtime {

inline constexpr std::size_t kExchangeBytes = 4096;

/// What a member says in one round of the team's host all-gather.
struct alignas(64) ExchangeRound {
  char call[48];  // compared across members: two different collectives at once are an error, not a mix-up
  std::uint32_t bytes;
  std::byte payload[kExchangeBytes];
};

struct TeamCell {
  std::uint64_t arrived;                            // rounds this member has posted: release and acquire
  alignas(64) std::atomic<std::uint64_t> released;  // members that have destroyed their handle
  // By the round's parity. A member may be one round ahead of another, never two: to post round r + 2 it has seen
  // everyone post r + 1, and each of them had read round r before.
  ExchangeRound rounds[2];
  TeamWords words;  // of the members' kernels
};

inline constexpr std::size_t kTeamCellBytes = 64 * 1024;
/// Teams a World can have at once. Cells cost memory when they are used, not before.
inline constexpr std::size_t kTeamCells = 4 * 1024;
static_assert(sizeof(TeamCell) <= kTeamCellBytes);
static_assert(kTeamCells / 8 <= kExchangeBytes, "the map of free cells travels in one round");

}  // namespace isotope::runtime
