#include "check/older.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "check/memory.hpp"
#include "check/scheduler.hpp"
#include "check/text.hpp"

namespace isotope::check {

namespace {

struct Seen {
  TaskId task;
  Epoch epoch;
  const void *pc, *store_pc;
  std::uint64_t seen, latest;
};
constexpr std::size_t kSeenNamed = 3;

std::deque<Seen> g_seen;  // the last of them
std::uint64_t g_accesses = 0;
VectorClock g_fences;  // what came before some sequentially consistent fence

bool shows_older() { return Scheduler::instance().strategy().shows_older(); }

bool comes_after(const Task& task, TaskId other, Epoch epoch) {
  return task.clock.covers(other, epoch) || task.ordered.covers(other, epoch);
}

/// Whether the task may read what was there before `newer`.
bool may_miss(const Task& task, const Location& location, const Value& newer) {
  if (newer.access >= task.other_access || comes_after(task, newer.task, newer.epoch)) return false;
  return std::none_of(location.readings.begin(), location.readings.end(), [&](const Reading& one) {
    return one.version >= newer.version && comes_after(task, one.task, one.epoch);
  });
}

void note_reading(const Task& task, Location& location, std::uint64_t version) {
  if (location.older.empty() || version <= location.older.front().version) return;
  for (const Reading& one : location.readings) {
    if (one.task == task.id && one.version == version) return;
  }
  location.readings.push_back({task.id, task.epoch(), version, 0});
}

/// How often the task has read something older than the latest.
std::uint32_t& late_readings(const Task& task, Location& location) {
  Reading* newest = nullptr;
  for (Reading& one : location.readings) {
    if (one.task == task.id && (newest == nullptr || one.version > newest->version)) newest = &one;
  }
  if (newest != nullptr) return newest->late;
  location.readings.push_back({task.id, task.epoch(), location.older.front().version, 0});
  return location.readings.back().late;
}

}  // namespace

void note_access(Task& task, std::uintptr_t word) {
  if (word != task.last_word || word == 0) {
    task.other_access = word == 0 ? g_accesses + 1 : task.last_access;
    task.last_word = word;
  }
  task.last_access = ++g_accesses;
}

const Value* value_to_see(Task& task, Location& location, int bytes, std::uint64_t found) {
  if (location.older.empty() || !shows_older()) return nullptr;
  if (location.bytes != bytes || location.latest.value != found) {
    forget_older(location);
    return nullptr;
  }
  std::uint32_t choices = 0;
  if (task.kind == TaskKind::kernel && late_readings(task, location) < kLateReadings) {
    const Value* newer = &location.latest;
    while (choices < location.older.size() && may_miss(task, location, *newer))
      newer = &location.older[location.older.size() - ++choices];
  }
  const std::uint32_t back = choices == 0 ? 0 : Scheduler::instance().strategy().choose_older(choices);
  if (back == 0) {
    note_reading(task, location, location.latest.version);
    return nullptr;
  }
  ++late_readings(task, location);
  const Value& older = location.older[location.older.size() - back];
  note_reading(task, location, older.version);
  return &older;
}

void note_latest_read(Task& task, Location& location) {
  if (!location.older.empty() && shows_older()) note_reading(task, location, location.latest.version);
}

void keep_older(Location& location, int bytes, std::uint64_t found) {
  if (!shows_older() || memory().shadow().find(location.address) == nullptr) return;
  if (location.bytes != bytes) return forget_older(location);
  // What is known of it no longer holds, or never did: the word was written past the checker.
  if (location.latest.version == 0 || location.latest.value != found) {
    forget_older(location);
    location.latest = {found, location.version, 0, 0, 0, {}};
  }
  // The oldest makes room, and its memory is used again: this is on the way of every store.
  const bool full = location.older.size() == kOlderValues;
  if (full) {
    std::rotate(location.older.begin(), location.older.begin() + 1, location.older.end());
  } else {
    location.older.emplace_back();
  }
  Value& kept = location.older.back();
  const Value& latest = location.latest;
  kept.value = latest.value;
  kept.version = latest.version;
  kept.task = latest.task;
  kept.epoch = latest.epoch;
  kept.access = latest.access;
  kept.sequence = location.sequence;
  if (!full || location.readings.empty()) return;
  const std::uint64_t oldest = location.older.front().version;
  std::erase_if(location.readings, [&](const Reading& one) { return one.version <= oldest; });
}

void note_latest(Task& task, Location& location, std::uint64_t value) {
  if (!shows_older()) return;
  Value& latest = location.latest;
  latest.value = value;
  latest.version = location.version;
  latest.task = task.id;
  latest.epoch = task.epoch();
  latest.access = task.last_access;
}

void forget_older(Location& location) {
  location.older.clear();
  location.readings.clear();
  location.latest = {};
}

void note_older_seen(const Task& task, const Location& location, std::uint64_t seen, std::uint64_t found,
                     const void* pc) {
  const void* stored = location.history.empty() ? nullptr : location.history.back().pc;
  g_seen.push_back({task.id, task.epoch(), pc, stored, seen, found});
  if (g_seen.size() > kSeenNamed) g_seen.pop_front();
}

std::string older_seen_text() {
  if (g_seen.empty()) return {};
  std::string text = "\n  Loads that saw an older value, since nothing orders the store before them:";
  for (const Seen& one : g_seen) {
    text += fmt::format("\n    {} saw {} at {},\n    not {}, stored at {}", who_text(one.task, one.epoch),
                        value_text(one.seen), pc_text(one.pc), value_text(one.latest), pc_text(one.store_pc));
  }
  return text;
}

void order_with_fences(Task& task) {
  if (!shows_older()) return;
  g_fences.join(task.clock);
  task.ordered.join(g_fences);
}

}  // namespace isotope::check
