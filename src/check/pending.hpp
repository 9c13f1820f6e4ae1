// A race that nothing explains yet. The run goes on for a while: if another thread of the same block acquires what one
// of the two should have waited for, it is a sync of the block that is missing.
#pragma once

#include <cstdint>
#include <string>

#include "check/clock.hpp"

namespace isotope::check {

struct Task;

/// One of the two threads, and the access of the other one that it did not wait for.
struct PendingSide {
  std::uint64_t block_key = 0;  // 0: of no block
  std::uint32_t thread = 0;
  TaskId other = 0;
  Epoch epoch = 0;
};

struct PendingRace {
  std::string text;       // the report, up to what explains it
  std::string otherwise;  // its last sentence if nothing does
  PendingSide sides[2];
};

/// Whether a race is pending: no other is looked for.
bool race_is_pending() noexcept;
void put_off(PendingRace race);
/// The task has acquired something, at `pc`. Ends the run if that explains the race.
void explain_pending(const Task& task, const void* pc);
/// Takes the race's place in whatever ends the run. False: none is pending.
bool take_pending(std::string& kind, std::string& verdict, std::string& text);

}  // namespace isotope::check
