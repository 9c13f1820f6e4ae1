// What is known about a word that is accessed atomically: who stored there, with what order and scope, and who looks at
// it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "check/clock.hpp"
#include "check/task.hpp"
#include "isotope/base/order.hpp"

namespace isotope::check {

/// One atomic store, and what an acquire that reads it may rely on.
struct StoreRecord {
  TaskId task = 0;
  Epoch epoch = 0;
  int pe = 0;
  std::uint64_t block_key = 0;
  Order order = Order::relaxed;
  Scope scope = Scope::system;
  const void* pc = nullptr;
  VectorClock clock;                                     // of the task when it stored, released or not: for reports
  std::shared_ptr<const VectorClock> released[kLevels];  // to tasks that are that far away; null: nothing
};

/// A change of a word, for the report of a wait that is never met.
struct Written {
  std::uint64_t value = 0;
  bool known = true;  // plain stores tell their value only afterwards
  bool added = false;
  TaskId task = 0;
  Epoch epoch = 0;
  const void* pc = nullptr;
  std::uint64_t step = 0;
};

/// What a word was from one store to the next. Loads that nothing orders after the next one may still see it.
struct Value {
  std::uint64_t value = 0;
  std::uint64_t version = 0;  // of the Location, once it was stored
  TaskId task = 0;            // 0: it was there before the first atomic store
  Epoch epoch = 0;
  std::uint64_t access = 0;                                  // when, in accesses of the whole run
  std::vector<std::shared_ptr<const StoreRecord>> sequence;  // as Location::sequence was then
};

/// A task has read that version, so neither it nor whoever comes after it may read an older one.
struct Reading {
  TaskId task = 0;
  Epoch epoch = 0;
  std::uint64_t version = 0;
  std::uint32_t late = 0;  // readings of an older version since then
};

struct Location {
  std::uintptr_t address = 0;
  int bytes = 0;
  std::uint64_t version = 0;
  /// The last store and the read-modify-writes on top of it.
  std::vector<std::shared_ptr<const StoreRecord>> sequence;
  std::deque<Written> history;  // the latest kKept
  std::uint64_t writes = 0;
  std::uint64_t waits_met = 0;
  std::vector<Task*> lookers;
  // Of schedules in which loads may see older values (older.hpp): the latest store without its sequence, what was there
  // before it, oldest first, and who has read what.
  Value latest;
  std::vector<Value> older;
  std::vector<Reading> readings;

  static constexpr std::size_t kKept = 16;
};

}  // namespace isotope::check
