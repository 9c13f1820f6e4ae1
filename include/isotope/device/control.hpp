// The words a wait looks at besides its own: the job's abort word and the deadline; and where it leaves word when it
// gives up.
//
// Plain data that a kernel reaches through its Team. On the host the runtime owns one Control per PE and World.
#pragma once

#include <cstdint>

#include "isotope/base/call_site.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/device/memory.hpp"

namespace isotope {

/// What a wait that gave up was waiting for. The first one of a PE is kept; the host turns it into an Error.
struct FaultRecord {
  std::uint32_t state = 0;    // 0 empty, 1 being written, 2 complete; then it stays until the host has reported it
  std::uint32_t aborted = 0;  // 1: the job ended; 0: the deadline passed
  const char* call = nullptr;
  CallSite site;
  const void* address = nullptr;
  std::int32_t from = -1;  // PE it was expected from, where the call knows
  std::uint32_t cmp = 0;
  std::uint64_t expected = 0;
  std::uint64_t found = 0;
  std::uint64_t waited_ns = 0;
};

struct Control {
  const std::uint64_t* abort_word = nullptr;  // not 0: the job has ended
  std::uint64_t wait_deadline_ns = 0;
  std::int32_t pe = 0;
  FaultRecord fault;
};

/// One per team and PE, in that PE's own memory.
struct TeamState {
  std::uint32_t stopped =
      0;  // a wait on this team gave up: its puts, signals and waits do nothing until the host has reported it
  Control* control = nullptr;
};

namespace detail {

/// Keeps the first fault of this PE and drops later ones.
ISOTOPE_HD void record_fault(Control& control, FaultRecord fault) {
  std::uint32_t empty = 0;
  if (!cpu::compare_exchange(&control.fault.state, empty, 1u)) return;
  fault.state = 1;
  control.fault = fault;
  store(&control.fault.state, 2u, Order::release);
}

}  // namespace detail

}  // namespace isotope
