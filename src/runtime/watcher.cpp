// Nobody watches.
#include "runtime/watcher.hpp"

namespace isotope::runtime::watcher {

const std::uint64_t kGapBytes = 0;

void slots(const void*, std::uint64_t, std::uint64_t, int) {}
void object_made(int, std::uint64_t, const void*, std::uint64_t, bool, CallSite) {}
void object_let_go(int, const void*) {}
void object_freed(int, const void*) {}
void host_read(const void*, std::size_t) {}
void host_wrote(const void*, std::size_t) {}

}  // namespace isotope::runtime::watcher
