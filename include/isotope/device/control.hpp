// The words a wait looks at besides its own: the job's abort word and the deadline; and where a call leaves word when
// it gives up or refuses an argument.
//
// Plain data that a kernel reaches through its Team. On the host the runtime owns one Control per PE and World.
#pragma once

#include <cstdint>

#include "isotope/base/call_site.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/device/memory.hpp"
#include "isotope/device/objects.hpp"

namespace isotope {

/// Why a device call did not do what it was asked.
enum class Fault : std::uint32_t {
  deadline,       // the wait's deadline passed
  aborted,        // the job ended
  rank,           // `value` is no member: low <= rank < high was expected
  index,          // `value` is no barrier index, or no stride: low <= it < high was expected
  null_pointer,   // the argument is null, `value` bytes long
  misaligned,     // the address `value` is no multiple of `low`
  not_symmetric,  // the address `value`, `high` bytes long, lies in no symmetric object
  past_object,    // `high` bytes at `value` end after the object that has `low` bytes from there
  mismatch,       // PE `high` passed `low` where this one passed `value`
  unsupported,    // a collective has no algorithm `value` for type `low` and operation `high`
  overlap,        // `value` bytes of the argument overlap another one's where they may not
  refused_there,  // PE `high` refused the same call
};

/// The first fault of a PE is kept; the host turns it into an Error. In memory that the host reads while kernels run: a
/// GPU may write there, but its atomics need not work there.
struct FaultRecord {
  std::uint32_t complete = 0;  // 1: written, and stays until the host has reported it
  Fault fault = Fault::deadline;
  const char* call = nullptr;
  CallSite site;
  // A wait that gave up:
  const void* address = nullptr;
  std::int32_t from = -1;  // PE it was expected from, where the call knows
  std::uint32_t cmp = 0;
  std::uint32_t is_signed = 0;  // how to read the two below
  std::uint64_t expected = 0;
  std::uint64_t found = 0;
  std::uint64_t waited_ns = 0;
  // An argument that was refused:
  const char* argument = nullptr;
  std::int64_t value = 0, low = 0, high = 0;
};

/// In the PE's own memory.
struct Control {
  const std::uint64_t* abort_word = nullptr;  // not 0: the job has ended
  std::uint64_t wait_deadline_ns = 0;
  std::int32_t pe = 0;
  std::uint32_t fault_claimed = 0;  // 1: the record is someone's
  FaultRecord* fault = nullptr;
  ObjectTable objects;
};

/// Barriers that a team has, for as many groups at once. Fixed when the team is made.
inline constexpr int kTeamBarriers = 256;
/// Words of one barrier: a flag per member up to this many members, or per step of a dissemination barrier beyond.
inline constexpr int kBarrierFlags = 16;

/// The words of a team that its members' kernels write on each other, at the same place of every member's slot.
struct TeamWords {
  struct alignas(128) Barrier {
    std::uint64_t flags[kBarrierFlags];
  };
  Barrier barriers[kTeamBarriers];
  std::uint64_t rounds[kTeamBarriers];  // of each barrier: only this PE's
};

/// One per team and PE, in that PE's own memory.
struct TeamState {
  std::uint32_t stopped =
      0;  // a call on this team gave up: its puts, signals and waits do nothing until the host has reported it
  Control* control = nullptr;
  std::uint64_t grid = 0;   // arrivals of the grid's blocks (low half) and completed grid syncs (high half)
  std::uint64_t stops = 0;  // how often the host has found it stopped; in the host's own state of the team
};

namespace detail {

/// Keeps the first fault of this PE and drops later ones; stops the team.
ISOTOPE_HD void record_fault(TeamState& team, FaultRecord fault) {
  Control& control = *team.control;
  if (exchange(&control.fault_claimed, 1u, Order::acq_rel) == 0) {
    fault.complete = 0;
    *control.fault = fault;
    store(&control.fault->complete, 1u, Order::release);
  }
  store(&team.stopped, 1u, Order::release);
}

}  // namespace detail

}  // namespace isotope
