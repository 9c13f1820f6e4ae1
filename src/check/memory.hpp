// The memory that a run watches: shadow cells, the symmetric objects in it, and shared memory of blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "check/shadow.hpp"
#include "isotope/base/call_site.hpp"

namespace isotope::check {

struct Object {
  std::uint64_t id = 0;
  std::size_t offset = 0;  // in every slot
  std::size_t bytes = 0;
  std::string site;
  std::size_t region = 0;
  std::vector<bool> held;  // by PE
  bool freed = false;
};

/// An address in words: which object of whose copy.
struct Place {
  int pe = -1;
  const Object* object = nullptr;
  std::size_t offset = 0;  // in the object, or from its end where it lies past it
  std::string text;        // "object 2 + 16"
};

class Memory {
 public:
  Shadow& shadow() { return shadow_; }

  // A World's reservation, and objects in it, as the runtime tells of them (watcher.cpp).
  void add_slots(std::uintptr_t base, std::size_t slot_bytes, std::size_t heap_offset, int pes);
  /// Every PE tells of it; the first one counts, since all have agreed by then.
  void add_object(std::uint64_t id, std::uintptr_t address, std::size_t bytes, bool zeroed, CallSite site);
  void free_object(std::uintptr_t address);
  void let_go(int pe, std::uintptr_t address);
  /// Objects that some PE has not let go of at the end of the run.
  std::vector<const Object*> leaks() const;

  /// Memory for a shared variable: watched, and never used again.
  char* new_shared(std::size_t bytes, std::size_t alignment);
  void note_word(std::uintptr_t address);

  /// The PE whose slot holds the address; -1 for none.
  int pe_of(std::uintptr_t address);
  Place describe(std::uintptr_t address);
  /// The same place of another PE's slot; 0 where the address is in no slot.
  std::uintptr_t on_pe(std::uintptr_t address, int pe);

 private:
  Object* find_object(std::size_t region, std::size_t offset, bool freed_too);

  Shadow shadow_;
  std::vector<Region> worlds_;
  std::vector<Object> objects_;
  std::uintptr_t shared_next_ = 0, shared_end_ = 0;
};

/// Of the run in progress.
Memory& memory();

}  // namespace isotope::check
