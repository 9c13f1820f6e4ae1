#include "check/memory.hpp"

#include <fmt/format.h>

#include "check/text.hpp"
#include "isotope/base/error.hpp"
#include "os/memory.hpp"

namespace isotope::check {

namespace {
constexpr std::size_t kSharedArena = 1ull << 30;  // addresses; memory only where it is used
}  // namespace

Memory& memory() {
  static Memory* the = new Memory;  // outlives every static object that may be accessed at the end
  return *the;
}

void Memory::add_slots(std::uintptr_t base, std::size_t slot_bytes, std::size_t heap_offset, int pes) {
  Region& region = shadow_.add(base, slot_bytes * static_cast<std::size_t>(pes), RegionKind::slots);
  region.slot_bytes = slot_bytes;
  region.heap_offset = heap_offset;
  region.pes = pes;
  worlds_.push_back(region);
}

Object* Memory::find_object(std::size_t region, std::size_t offset, bool freed_too) {
  // The latest first: an object that was freed may lie where another one lies now.
  for (auto one = objects_.rbegin(); one != objects_.rend(); ++one) {
    if (one->region == region && (freed_too || !one->freed) && offset - one->offset < one->bytes) return &*one;
  }
  return nullptr;
}

void Memory::add_object(std::uint64_t id, std::uintptr_t address, std::size_t bytes, bool zeroed, CallSite site) {
  for (std::size_t world = 0; world < worlds_.size(); ++world) {
    const Region& region = worlds_[world];
    if (address - region.base >= region.bytes) continue;
    const std::size_t offset = (address - region.base) % region.slot_bytes;
    for (Object& one : objects_) {
      if (one.region == world && one.id == id && one.offset == offset) return;
    }
    Object object;
    object.id = id;
    object.offset = offset;
    object.bytes = bytes;
    object.site = site_text(site);
    object.region = world;
    // The PEs have agreed: whoever comes back first may use everybody's copy.
    object.held.assign(static_cast<std::size_t>(region.pes), true);
    for (int one = 0; one < region.pes; ++one) shadow_.make_live(on_pe(address, one), bytes, zeroed);
    objects_.push_back(object);
  }
}

void Memory::free_object(std::uintptr_t address) {
  for (std::size_t world = 0; world < worlds_.size(); ++world) {
    const Region& region = worlds_[world];
    if (address - region.base >= region.bytes) continue;
    Object* object = find_object(world, (address - region.base) % region.slot_bytes, false);
    if (object == nullptr) continue;
    for (int pe = 0; pe < region.pes; ++pe) shadow_.make_dead(on_pe(address, pe), object->bytes);
    object->held.assign(object->held.size(), false);
    object->freed = true;
  }
}

void Memory::let_go(int pe, std::uintptr_t address) {
  for (std::size_t world = 0; world < worlds_.size(); ++world) {
    const Region& region = worlds_[world];
    if (address - region.base >= region.bytes) continue;
    if (Object* object = find_object(world, (address - region.base) % region.slot_bytes, false))
      object->held[static_cast<std::size_t>(pe)] = false;
  }
}

std::vector<const Object*> Memory::leaks() const {
  std::vector<const Object*> found;
  for (const Object& one : objects_) {
    for (const bool held : one.held) {
      if (!held) continue;
      found.push_back(&one);
      break;
    }
  }
  return found;
}

char* Memory::new_shared(std::size_t bytes, std::size_t alignment) {
  if (shared_next_ == 0) {
    shared_next_ = reinterpret_cast<std::uintptr_t>(os::map_zeros(kSharedArena));
    shared_end_ = shared_next_ + kSharedArena;
    shadow_.add(shared_next_, kSharedArena, RegionKind::shared);
  }
  constexpr std::size_t kRedZone = 64;
  const std::size_t align = alignment < 16 ? 16 : alignment;
  const std::uintptr_t at = (shared_next_ + align - 1) / align * align;
  if (at + bytes + kRedZone > shared_end_)
    throw Error(Code::not_supported,
                "the checker has 1 GiB of shared memory for all blocks of a run, and it is used up");
  shared_next_ = at + bytes + kRedZone;
  shadow_.make_live(at, bytes, false);
  return reinterpret_cast<char*>(at);
}

void Memory::note_word(std::uintptr_t address) {
  if (Region* region = shadow_.find(address)) region->cell(address).words = 1;
}

int Memory::pe_of(std::uintptr_t address) {
  for (const Region& region : worlds_) {
    if (address - region.base < region.bytes) return static_cast<int>((address - region.base) / region.slot_bytes);
  }
  return -1;
}

std::uintptr_t Memory::on_pe(std::uintptr_t address, int pe) {
  for (const Region& region : worlds_) {
    if (address - region.base >= region.bytes) continue;
    return region.base + (address - region.base) % region.slot_bytes + static_cast<std::size_t>(pe) * region.slot_bytes;
  }
  return 0;
}

Place Memory::describe(std::uintptr_t address) {
  Place place;
  for (std::size_t world = 0; world < worlds_.size(); ++world) {
    const Region& region = worlds_[world];
    if (address - region.base >= region.bytes) continue;
    place.pe = static_cast<int>((address - region.base) / region.slot_bytes);
    const std::size_t offset = (address - region.base) % region.slot_bytes;
    place.object = find_object(world, offset, true);
    if (place.object != nullptr) {
      place.offset = offset - place.object->offset;
      place.text = fmt::format("object {} + {} (allocated at {}), the copy of PE {}", place.object->id, place.offset,
                               place.object->site, place.pe);
    } else if (offset < region.heap_offset) {
      place.text = fmt::format("Isotope's own words of PE {} + {}", place.pe, offset);
    } else {
      // The object that ends right before it.
      const Object* before = nullptr;
      for (const Object& one : objects_) {
        if (one.region == world && one.offset <= offset && (before == nullptr || one.offset > before->offset))
          before = &one;
      }
      if (before == nullptr) {
        place.text = fmt::format("the heap of PE {} + {}", place.pe, offset - region.heap_offset);
      } else {
        place.object = before;
        place.offset = offset - before->offset - before->bytes;
        place.text = fmt::format("{} bytes past the end of object {} ({} bytes, allocated at {}), the copy of PE {}",
                                 place.offset, before->id, before->bytes, before->site, place.pe);
      }
    }
    return place;
  }
  if (Region* region = shadow_.find(address); region != nullptr && region->kind == RegionKind::shared) {
    place.text = "shared memory of the block";
    return place;
  }
  place.text = "memory that is in no symmetric object";
  return place;
}

}  // namespace isotope::check
