// What the runtime tells whoever watches memory: where the slots of a World are, and which objects come and go. Nobody
// does in an ordinary program; src/check has another body for each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/base/call_site.hpp"

namespace isotope::runtime::watcher {

/// Bytes that are left free behind every object, so that whoever runs past its end is noticed.
extern const std::uint64_t kGapBytes;

void slots(const void* base, std::uint64_t slot_bytes, std::uint64_t heap_offset, int pes);
/// PE `pe` has the object `id` at `address`.
void object_made(int pe, std::uint64_t id, const void* address, std::uint64_t bytes, bool written, CallSite site);
void object_let_go(int pe, const void* address);
void object_freed(int pe, const void* address);
/// The host has read or written symmetric memory by Symmetric::read or write.
void host_read(const void* address, std::size_t bytes);
void host_wrote(const void* address, std::size_t bytes);

}  // namespace isotope::runtime::watcher
