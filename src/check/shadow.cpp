#include "check/shadow.hpp"

#include <algorithm>

#include "check/findings.hpp"
#include "check/scheduler.hpp"
#include "check/step_log.hpp"
#include "check/task.hpp"
#include "os/memory.hpp"

namespace isotope::check {

namespace {

/// A kernel thread that repeats plain accesses this often without a step of the scheduler may poll with them.
constexpr std::uint32_t kRepeats = 50'000;

bool scope_reaches(const Task& from, TaskId to, Epoch epoch, Scope scope) {
  const Incarnation& other = Scheduler::instance().who(to, epoch);
  return level_of(scope) >= distance(from, other.pe, other.block_key);
}

/// Whether two accesses that nothing orders are a race.
bool conflict(const Task& task, const Access& before, std::uint8_t flags, Scope scope) {
  if (((before.flags | flags) & kWrite) == 0) return false;
  if ((before.flags & flags & kAtomic) == 0) return true;
  if (scope == Scope::system && before.scope() == Scope::system) return false;
  return !scope_reaches(task, before.task(), before.epoch, scope) ||
         !scope_reaches(task, before.task(), before.epoch, before.scope());
}

/// Whether nothing is lost when `later`, which comes after `before`, stands for both.
bool stands_for(const Access& later, const Access& before) {
  if ((before.mask & ~later.mask) != 0) return false;
  if (later.writes() && !later.atomic()) return true;
  if (before.writes() && !later.writes()) return false;
  return before.atomic() == later.atomic() && before.scope() >= later.scope();
}

}  // namespace

Region& Shadow::add(std::uintptr_t base, std::size_t bytes, RegionKind kind) {
  Region region;
  region.base = base;
  region.bytes = bytes;
  region.kind = kind;
  region.cells = static_cast<Cell*>(os::map_zeros(bytes / 8 * sizeof(Cell)));
  regions_.push_back(region);
  return regions_.back();
}

template <class Fn>
void Shadow::for_each_cell(std::uintptr_t address, std::size_t bytes, Fn fn) {
  Region* region = find(address);
  if (region == nullptr) return;
  while (bytes > 0) {
    const std::size_t first = address % 8;
    const std::size_t count = std::min<std::size_t>(8 - first, bytes);
    fn(*region, address, static_cast<std::uint8_t>(((1u << count) - 1) << first));
    address += count;
    bytes -= count;
  }
}

void Shadow::access(Task& task, std::uintptr_t address, std::size_t bytes, std::uint8_t flags, Scope scope,
                    const void* pc) {
  if (find(address) == nullptr || bytes == 0) return;
  if ((flags & kAtomic) == 0 && logging_steps()) log_plain(task, address, bytes, (flags & kWrite) != 0, pc);
  for_each_cell(address, bytes, [&](Region& region, std::uintptr_t at, std::uint8_t mask) {
    access_cell(task, region, at, mask, flags, scope, pc);
  });
}

void Shadow::access_cell(Task& task, Region& region, std::uintptr_t address, std::uint8_t mask, std::uint8_t flags,
                         Scope scope, const void* pc) {
  Cell& cell = region.cell(address);
  Access now;
  now.pc_task = reinterpret_cast<std::uint64_t>(pc) | static_cast<std::uint64_t>(task.id) << 48;
  now.epoch = task.epoch();
  now.mask = mask;
  now.flags = static_cast<std::uint8_t>(flags | ((flags & kAtomic) != 0 ? static_cast<unsigned>(scope) << 2 : 0));
  // The same thread does the same again: nothing new.
  if (cell.count != 0 && cell.recent[0].pc_task >> 48 == task.id && cell.recent[0].epoch == now.epoch &&
      cell.recent[0].mask == mask && cell.recent[0].flags == now.flags) {
    if (++task.repeats > kRepeats) Scheduler::instance().stand_aside(task);
    return;
  }

  if (region.holds_objects(address)) {
    if ((cell.live & mask) != mask) report_no_object(task, address, mask, cell, now);
    if (!now.writes() && (cell.written & mask) != mask) report_unwritten(task, address, mask, now);
  }
  if (now.writes()) {
    cell.written |= mask;
    if (cell.words != 0 && (flags & kAtomic) == 0) Scheduler::instance().plain_store(task, address / 8 * 8, mask, pc);
  }

  // Looks at what is remembered and keeps what `now` does not stand for.
  const auto keep = [&](const Access& before) {
    const bool same = before.task() == task.id;
    const bool ordered = same || task.clock.covers(before.task(), before.epoch);
    if ((before.mask & mask) != 0 && !ordered && conflict(task, before, now.flags, scope))
      report_race(task, address, before, now);
    return !(ordered && stands_for(now, before));
  };
  int kept = 0;
  for (int i = 0; i < cell.count; ++i) {
    if (keep(cell.recent[i])) cell.recent[kept++] = cell.recent[i];
  }
  cell.count = static_cast<std::uint8_t>(kept);
  if (cell.more != nullptr && !cell.more->empty()) std::erase_if(*cell.more, [&](const Access& a) { return !keep(a); });
  if (cell.count == Cell::kInline) {
    if (cell.more == nullptr) cell.more = new std::vector<Access>;
    cell.more->push_back(cell.recent[Cell::kInline - 1]);
    --cell.count;
  }
  for (int i = cell.count; i > 0; --i) cell.recent[i] = cell.recent[i - 1];
  cell.recent[0] = now;
  ++cell.count;
}

void Shadow::make_live(std::uintptr_t address, std::size_t bytes, bool written) {
  for_each_cell(address, bytes, [&](Region& region, std::uintptr_t at, std::uint8_t mask) {
    Cell& cell = region.cell(at);
    cell.live |= mask;
    cell.written = static_cast<std::uint8_t>(written ? cell.written | mask : cell.written & ~mask);
  });
}

void Shadow::make_dead(std::uintptr_t address, std::size_t bytes) {
  for_each_cell(address, bytes, [&](Region& region, std::uintptr_t at, std::uint8_t mask) {
    Cell& cell = region.cell(at);
    cell.live &= static_cast<std::uint8_t>(~mask);
    cell.was_live |= mask;
  });
}

void Shadow::mark_written(std::uintptr_t address, std::size_t bytes) {
  for_each_cell(address, bytes,
                [](Region& region, std::uintptr_t at, std::uint8_t mask) { region.cell(at).written |= mask; });
}

}  // namespace isotope::check
