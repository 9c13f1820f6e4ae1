// What device code tells the checker, on platforms that have none: nothing. platform/sim has the same names with
// bodies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/base/call_site.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/base/order.hpp"

namespace isotope::unwatched {

/// Whether relax() returns only when something that the caller looked at has changed: a wait needs no deadline then.
inline constexpr bool kWaitsBlock = false;

/// While one lives, the accesses of this thread are the library's own bookkeeping.
struct Bookkeeping {
  ISOTOPE_HD Bookkeeping() {}
};

/// A wait that was not met at its first look, and its end.
ISOTOPE_HD void begin_wait(const void*, std::size_t, Cmp, std::uint64_t, int, const char*, CallSite) {}
ISOTOPE_HD void end_wait() {}
/// A call with a bad argument, which did nothing.
ISOTOPE_HD void refused(const char*, CallSite, const char*, const char*) {}
/// The thread begins to run the kernel that the text names.
ISOTOPE_HD void name_kernel(const char*) {}

/// Kernels of one stream follow each other anyway.
ISOTOPE_HD void await_previous_kernel() {}
ISOTOPE_HD void allow_next_kernel() {}

/// Processors fetch ahead and work ahead by themselves.
ISOTOPE_HD void fetch_ahead(const void*) {}
template <class T>
ISOTOPE_HD T ready(T value) {
  return value;
}
ISOTOPE_HD std::uint32_t opaque(std::uint32_t value) { return value; }

/// What the first lane of a warp of 32 says, for all of them; orders memory among them. Only where lanes run in step.
ISOTOPE_HD bool first_of_whole_warp(bool value) { return value; }
/// Whether all lanes of one say yes. Orders nothing.
ISOTOPE_HD bool all_of_whole_warp(bool value) { return value; }

/// Where puts travel by themselves: those of this thread before it come before what it does later; are complete.
ISOTOPE_HD void order_puts() {}
ISOTOPE_HD void complete_puts() {}
/// Takes over a group's put and the signal after it; `leader` is true in one thread of the group. False: it did
/// nothing, and the caller does both.
ISOTOPE_HD bool put_signal_later(bool, void*, const void*, std::size_t, std::uint64_t*, std::uint64_t, SignalOp) {
  return false;
}

}  // namespace isotope::unwatched
