// Loads that see older values. A store is seen at once by nobody but its own thread: until something orders a load
// after it, the load may return what was there before. What a thread has read, or what happens before its load, it
// cannot unsee.
//
// An older value is offered only where it makes a difference: where the thread has accessed another word, or met
// others, since the newer one was stored. Otherwise the load could as well have come before that store, in another
// schedule. Read-modify-writes, sequentially consistent loads and 16-byte loads see the latest; so does host code.
#pragma once

#include <cstdint>
#include <string>

#include "check/location.hpp"
#include "check/task.hpp"

namespace isotope::check {

/// How many values before the latest are kept.
inline constexpr std::size_t kOlderValues = 3;
/// A task sees no older value of a word after it has done so this often without a newer one: waits have to end.
inline constexpr std::uint32_t kLateReadings = 2;

/// The current task accesses the word atomically, or (0) has met others.
void note_access(Task& task, std::uintptr_t word);

/// The value that a load of `task` sees: the word's latest (null) or one before it. `found` is what memory holds.
const Value* value_to_see(Task& task, Location& location, int bytes, std::uint64_t found);
/// The task has read the latest value, as every read-modify-write does.
void note_latest_read(Task& task, Location& location);
/// Before a store: what it is about to replace. `found` is what memory holds.
void keep_older(Location& location, int bytes, std::uint64_t found);
/// After a store and changed().
void note_latest(Task& task, Location& location, std::uint64_t value);
/// The word was written by something that is no atomic store.
void forget_older(Location& location);
/// The load at `pc` saw `seen` in place of the latest value, `found`.
void note_older_seen(const Task& task, const Location& location, std::uint64_t seen, std::uint64_t found,
                     const void* pc);
/// For the report of a result that is wrong: which loads saw older values last. Empty, or lines that begin with '\n'.
std::string older_seen_text();
/// A sequentially consistent fence: whoever comes to one later sees what came before this one.
void order_with_fences(Task& task);

}  // namespace isotope::check
