// What the runtime tells about memory goes to the shadow.
#include "runtime/watcher.hpp"

#include "check/memory.hpp"
#include "check/scheduler.hpp"

namespace isotope::runtime::watcher {

namespace {

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

void access(const void* address, std::size_t bytes, std::uint8_t flags, const void* pc) {
  check::Task* me = check::Scheduler::current();
  if (me != nullptr) check::memory().shadow().access(*me, number(address), bytes, flags, Scope::system, pc);
}

}  // namespace

const std::uint64_t kGapBytes = 64;

void slots(const void* base, std::uint64_t slot_bytes, std::uint64_t heap_offset, int pes) {
  check::memory().add_slots(number(base), slot_bytes, heap_offset, pes);
}
void object_made(int, std::uint64_t id, const void* address, std::uint64_t bytes, bool written, CallSite site) {
  check::memory().add_object(id, number(address), bytes, written, site);
}
void object_let_go(int pe, const void* address) { check::memory().let_go(pe, number(address)); }
void object_freed(int, const void* address) { check::memory().free_object(number(address)); }
void host_read(const void* address, std::size_t bytes) { access(address, bytes, 0, __builtin_return_address(0)); }
void host_wrote(const void* address, std::size_t bytes) {
  access(address, bytes, check::kWrite, __builtin_return_address(0));
}

}  // namespace isotope::runtime::watcher
