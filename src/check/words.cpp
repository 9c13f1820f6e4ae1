// Atomic accesses and fences: what they synchronise, by order and scope (docs/memory-model.md).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "check/advice.hpp"
#include "check/findings.hpp"
#include "check/memory.hpp"
#include "check/older.hpp"
#include "check/pending.hpp"
#include "check/scheduler.hpp"
#include "check/step_log.hpp"
#include "check/text.hpp"
#include "check/words.hpp"

namespace isotope::check {

namespace {

constexpr std::size_t kNearMissesKept = 16;
/// No word's address: what sequentially consistent fences access, as far as their order matters.
constexpr std::uintptr_t kFences = 1;

bool acquires(Order order) { return order == Order::acquire || order == Order::acq_rel || order == Order::seq_cst; }
bool releases(Order order) { return order == Order::release || order == Order::acq_rel || order == Order::seq_cst; }

// Of fixed sizes, which become one instruction: memcpy as a call would be watched itself.
template <class T>
std::uint64_t raw_load_as(const void* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <class T>
void raw_store_as(void* p, std::uint64_t value) {
  const T narrow = static_cast<T>(value);
  std::memcpy(p, &narrow, sizeof narrow);
}

std::uint64_t raw_load(const void* p, int bytes) {
  if (bytes == 8) return raw_load_as<std::uint64_t>(p);
  if (bytes == 4) return raw_load_as<std::uint32_t>(p);
  return bytes == 2 ? raw_load_as<std::uint16_t>(p) : raw_load_as<std::uint8_t>(p);
}
void raw_store(void* p, int bytes, std::uint64_t value) {
  if (bytes == 8) return raw_store_as<std::uint64_t>(p, value);
  if (bytes == 4) return raw_store_as<std::uint32_t>(p, value);
  return bytes == 2 ? raw_store_as<std::uint16_t>(p, value) : raw_store_as<std::uint8_t>(p, value);
}

std::uint64_t extend(std::uint64_t value, int bytes) {
  const int shift = 64 - 8 * bytes;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
}

std::uint64_t combine(sim::Change change, std::uint64_t old, std::uint64_t value, int bytes) {
  using sim::Change;
  switch (change) {
    case Change::exchange:
      return value;
    case Change::add:
      return old + value;
    case Change::sub:
      return old - value;
    case Change::bit_and:
      return old & value;
    case Change::bit_or:
      return old | value;
    case Change::bit_xor:
      return old ^ value;
    case Change::min:
      return value < old ? value : old;
    case Change::max:
      return old < value ? value : old;
    case Change::min_signed:
      return static_cast<std::int64_t>(extend(value, bytes)) < static_cast<std::int64_t>(extend(old, bytes)) ? value
                                                                                                             : old;
    case Change::max_signed:
      return static_cast<std::int64_t>(extend(old, bytes)) < static_cast<std::int64_t>(extend(value, bytes)) ? value
                                                                                                             : old;
    case Change::add_float:
      break;
  }
  if (bytes == 8) return std::bit_cast<std::uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(value));
  return std::bit_cast<std::uint32_t>(std::bit_cast<float>(static_cast<std::uint32_t>(old)) +
                                      std::bit_cast<float>(static_cast<std::uint32_t>(value)));
}

/// The reading half: takes up what the stores it reads from have released to it.
void synchronise(Task& task, const Location& location, const std::vector<std::shared_ptr<const StoreRecord>>& stores,
                 Order order, Scope scope, const void* pc) {
  for (const auto& store : stores) {
    if (store->task == task.id) continue;
    const Level needed = distance(task, store->pe, store->block_key);
    const auto& released = store->released[static_cast<int>(needed)];
    const bool reaches = released != nullptr && level_of(scope) >= needed;
    if (reaches && acquires(order)) {
      task.clock.join(*released);
      continue;
    }
    if (reaches) task.seen[static_cast<int>(needed)].join(*released);
    if (task.near_misses.size() == kNearMissesKept) task.near_misses.erase(task.near_misses.begin());
    task.near_misses.push_back({store, reinterpret_cast<const void*>(location.address), order, scope, pc});
  }
  if (race_is_pending()) explain_pending(task, pc);
}

/// The writing half: a record of what whoever reads it may rely on.
std::shared_ptr<const StoreRecord> make_record(Task& task, Order order, Scope scope, const void* pc) {
  auto record = std::make_shared<StoreRecord>();
  record->task = task.id;
  record->epoch = task.epoch();
  record->pe = task.pe;
  record->block_key = task.block != nullptr ? task.block->key : 0;
  record->order = order;
  record->scope = scope;
  record->pc = pc;
  record->clock = task.clock;
  if (!task.extra.empty()) record->clock.join(task.extra);
  if (releases(order)) {
    const auto all = std::make_shared<const VectorClock>(record->clock);
    for (int level = 0; level <= static_cast<int>(level_of(scope)); ++level) record->released[level] = all;
  } else {
    for (int level = 0; level <= static_cast<int>(level_of(scope)); ++level)
      record->released[level] = task.fenced[level];
  }
  return record;
}

/// Stores that release nothing are kept for reports alone: a few are enough.
void drop_old_unreleased(Location& location) {
  constexpr std::size_t kKept = 4;
  std::size_t count = 0;
  for (const auto& one : location.sequence) count += one->released[0] == nullptr ? 1 : 0;
  if (count <= kKept) return;
  const auto oldest = std::find_if(location.sequence.begin(), location.sequence.end(),
                                   [](const auto& one) { return one->released[0] == nullptr; });
  location.sequence.erase(oldest);
}

void remember(Location& location, Task& task, std::uint64_t value, bool on_top, Order order, Scope scope,
              const void* pc) {
  advise_no_poll(task);
  auto record = make_record(task, order, scope, pc);
  if (on_top) {
    // Of one task the latest is enough, unless an earlier one reached further.
    std::erase_if(location.sequence, [&](const auto& old) {
      if (old->task != task.id) return false;
      for (int level = 0; level < kLevels; ++level) {
        if (old->released[level] != nullptr && record->released[level] == nullptr) return false;
      }
      return true;
    });
    drop_old_unreleased(location);
  } else {
    location.sequence.clear();
  }
  location.sequence.push_back(std::move(record));
  Written what;
  what.value = value;
  what.added = on_top;
  what.task = task.id;
  what.epoch = task.epoch();
  what.pc = pc;
  what.step = Scheduler::instance().steps();
  Scheduler::instance().changed(location, task, what);
  note_latest(task, location, value);
  if (releases(order) || task.fenced[0] != nullptr) task.tick();
}

/// What every access begins with: the turn of others, then the look at the shadow. Null: not part of the run.
Task* begin(const void* p, int bytes, bool writes, Order order, Scope scope, const void* pc) {
  Task* task = Scheduler::current();
  if (task == nullptr || task->bookkeeping != 0) return nullptr;
  // Host code's own words are no part of what is checked, and the runtime looks at its own with locks held.
  const bool host = task->kind == TaskKind::host || task->kind == TaskKind::callback;
  if (host && memory().shadow().find(reinterpret_cast<std::uintptr_t>(p)) == nullptr) return nullptr;
  Scheduler::instance().point({reinterpret_cast<std::uintptr_t>(p), writes});
  task->last_pc = pc;
  note_access(*task, reinterpret_cast<std::uintptr_t>(p));
  advise_access(*task, reinterpret_cast<std::uintptr_t>(p), scope, pc);
  if (order == Order::seq_cst) order_with_fences(*task);
  memory().shadow().access(*task, reinterpret_cast<std::uintptr_t>(p), static_cast<std::size_t>(bytes),
                           static_cast<std::uint8_t>(kAtomic | (writes ? kWrite : 0)), scope, pc);
  return task;
}

}  // namespace

std::uint64_t load_word(const void* p, int bytes, Order order, Scope scope, const void* pc) {
  Task* task = begin(p, bytes, false, order, scope, pc);
  const std::uint64_t found = raw_load(p, bytes);
  if (task == nullptr) return found;
  Location& location = Scheduler::instance().location(p, bytes);
  if (order == Order::seq_cst) note_latest_read(*task, location);
  const Value* older = order == Order::seq_cst ? nullptr : value_to_see(*task, location, bytes, found);
  const std::uint64_t value = older != nullptr ? older->value : found;
  const std::uint64_t version = older != nullptr ? older->version : location.version;
  synchronise(*task, location, older != nullptr ? older->sequence : location.sequence, order, scope, pc);
  if (older != nullptr) note_older_seen(*task, location, value, found, pc);
  advise_load(*task, location, value, pc);
  if (logging_steps()) {
    const std::string late =
        older != nullptr ? fmt::format(" (older; the latest is {})", value_text(found)) : std::string();
    log_atomic(*task, fmt::format("loads {}{} from", value_text(value), late), p, order, scope, pc);
  }
  Scheduler::instance().look(location, version, pc);
  return value;
}

std::uint64_t load_latest(const void* p, Scope scope, const void* pc) {
  Task* task = begin(p, 8, false, Order::relaxed, scope, pc);
  const std::uint64_t found = raw_load(p, 8);
  if (task == nullptr) return found;
  Location& location = Scheduler::instance().location(p, 8);
  note_latest_read(*task, location);
  synchronise(*task, location, location.sequence, Order::relaxed, scope, pc);
  if (logging_steps()) log_atomic(*task, fmt::format("loads {} from", value_text(found)), p, Order::relaxed, scope, pc);
  Scheduler::instance().look(location, location.version, pc);
  return found;
}

void store_word(void* p, int bytes, std::uint64_t value, Order order, Scope scope, const void* pc) {
  Task* task = begin(p, bytes, true, order, scope, pc);
  if (task == nullptr) return raw_store(p, bytes, value);
  Location& location = Scheduler::instance().location(p, bytes);
  keep_older(location, bytes, raw_load(p, bytes));
  raw_store(p, bytes, value);
  if (logging_steps()) log_atomic(*task, fmt::format("stores {} to", value_text(value)), p, order, scope, pc);
  remember(location, *task, value, false, order, scope, pc);
}

std::uint64_t change_word(void* p, int bytes, sim::Change change, std::uint64_t value, Order order, Scope scope,
                          const void* pc) {
  Task* task = begin(p, bytes, true, order, scope, pc);
  const std::uint64_t old = raw_load(p, bytes);
  const std::uint64_t next = combine(change, old, value, bytes);
  raw_store(p, bytes, next);
  if (task == nullptr) return old;
  Location& location = Scheduler::instance().location(p, bytes);
  synchronise(*task, location, location.sequence, order, scope, pc);
  keep_older(location, bytes, old);
  if (logging_steps())
    log_atomic(*task, fmt::format("changes {} to {} in", value_text(old), value_text(raw_load(p, bytes))), p, order,
               scope, pc);
  remember(location, *task, raw_load(p, bytes), true, order, scope, pc);
  return old;
}

std::uint64_t replace_word(void* p, int bytes, std::uint64_t expected, std::uint64_t desired, Order order, Scope scope,
                           const void* pc) {
  Task* task = begin(p, bytes, true, order, scope, pc);
  const std::uint64_t old = raw_load(p, bytes);
  const bool done = old == expected;
  if (done) raw_store(p, bytes, desired);
  if (task == nullptr) return old;
  Location& location = Scheduler::instance().location(p, bytes);
  synchronise(*task, location, location.sequence, order, scope, pc);
  if (logging_steps()) {
    log_atomic(*task,
               done ? fmt::format("changes {} to {} in", value_text(old), value_text(desired))
                    : fmt::format("finds {}, not {}, in", value_text(old), value_text(expected)),
               p, order, scope, pc);
  }
  if (done) {
    keep_older(location, bytes, old);
    remember(location, *task, desired, true, order, scope, pc);
  } else {
    note_latest_read(*task, location);
    Scheduler::instance().look(location, location.version, pc);
  }
  return old;
}

void order_accesses(Order order, Scope scope) {
  Task* task = Scheduler::current();
  if (task == nullptr || task->bookkeeping != 0) return;
  if (order == Order::seq_cst && task->kind == TaskKind::kernel && Scheduler::instance().strategy().shows_older()) {
    // Which fence comes first makes a difference to what loads after them may see.
    Scheduler::instance().point({kFences, true});
    note_access(*task, kFences);
  }
  if (logging_steps() && task->kind == TaskKind::kernel)
    log_event(*task, fmt::format("fence, {} {}", order_text(order), scope_text(scope)));
  const int reach = static_cast<int>(level_of(scope));
  if (acquires(order)) {
    for (int level = 0; level <= reach; ++level) task->clock.join(task->seen[level]);
    if (race_is_pending()) explain_pending(*task, task->last_pc);
  }
  if (order == Order::seq_cst) order_with_fences(*task);
  if (!releases(order)) return;
  VectorClock all = task->clock;
  if (!task->extra.empty()) all.join(task->extra);
  const auto now = std::make_shared<const VectorClock>(std::move(all));
  for (int level = 0; level <= reach; ++level) task->fenced[level] = now;
  task->tick();
}

}  // namespace isotope::check
