// Shadow memory: for every 8 bytes of the memory that is watched, who accessed them last and which of them hold a
// value.
//
// Watched are the slots of the PEs (symmetric objects, the library's own words) and shared memory of blocks. Everything
// else is a thread's own as far as the checker knows, and costs one comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "check/clock.hpp"
#include "isotope/base/order.hpp"

namespace isotope::check {

struct Task;

enum AccessFlags : std::uint8_t {
  kWrite = 1,
  kAtomic = 2,  // bits 2 to 4: the scope of an atomic one
  kWide = 32,   // a plain access of a whole vector, which may be seen in pieces
};

/// One access that has happened.
struct Access {
  std::uint64_t pc_task = 0;  // program counter (48 bits), task above it
  Epoch epoch = 0;
  std::uint8_t mask = 0;  // which of the 8 bytes
  std::uint8_t flags = 0;
  std::uint16_t unused = 0;

  TaskId task() const { return static_cast<TaskId>(pc_task >> 48); }
  const void* pc() const { return reinterpret_cast<const void*>(pc_task & 0xffffffffffffull); }
  bool writes() const { return (flags & kWrite) != 0; }
  bool atomic() const { return (flags & kAtomic) != 0; }
  bool wide() const { return (flags & kWide) != 0; }
  Scope scope() const { return static_cast<Scope>(flags >> 2 & 7); }
};

struct Cell {
  static constexpr int kInline = 3;
  Access recent[kInline];
  std::vector<Access>* more = nullptr;
  std::uint8_t count = 0;     // of `recent`
  std::uint8_t live = 0;      // bytes that belong to an object
  std::uint8_t written = 0;   // bytes that hold a value
  std::uint8_t words = 0;     // 1: some Location lies here
  std::uint8_t was_live = 0;  // bytes of an object that was freed
  std::uint8_t unused[3] = {};
};
static_assert(sizeof(Cell) == 64);

enum class RegionKind { slots, shared };

struct Region {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  Cell* cells = nullptr;
  RegionKind kind = RegionKind::slots;
  // of slots
  std::size_t slot_bytes = 0, heap_offset = 0;
  int pes = 0;

  Cell& cell(std::uintptr_t address) const { return cells[(address - base) / 8]; }
  /// Whether every byte must belong to an object: not in the control range of a slot.
  bool holds_objects(std::uintptr_t address) const {
    return kind == RegionKind::shared || (address - base) % slot_bytes >= heap_offset;
  }
};

class Shadow {
 public:
  /// Watches [base, base + bytes) from now on.
  Region& add(std::uintptr_t base, std::size_t bytes, RegionKind kind);
  /// The region that holds the address, or null.
  Region* find(std::uintptr_t address) noexcept {
    for (Region& region : regions_) {
      if (address - region.base < region.bytes) return &region;
    }
    return nullptr;
  }
  /// An access of `task`: looks for a race, for bytes of no object and for bytes that no one wrote, and remembers it.
  void access(Task& task, std::uintptr_t address, std::size_t bytes, std::uint8_t flags, Scope scope, const void* pc);

  /// The bytes belong to a new object; `written`: they hold values.
  void make_live(std::uintptr_t address, std::size_t bytes, bool written);
  void make_dead(std::uintptr_t address, std::size_t bytes);
  /// The bytes hold values, whoever wrote them.
  void mark_written(std::uintptr_t address, std::size_t bytes);

 private:
  void access_cell(Task& task, Region& region, std::uintptr_t address, std::uint8_t mask, std::uint8_t flags,
                   Scope scope, const void* pc);
  template <class Fn>
  void for_each_cell(std::uintptr_t address, std::size_t bytes, Fn fn);

  std::vector<Region> regions_;
};

}  // namespace isotope::check
