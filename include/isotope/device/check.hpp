// What device calls hold their arguments against. A bad argument is recorded (World::synchronize throws it, naming
// argument, value and bounds), stops the team, and nothing is written.
//
// Ranks are checked wherever kernels run on the CPU, and on GPUs in the checked build; addresses in the checked build.
// The C edge checks all of it when it is called from host code, in every build.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/base/call_site.hpp"
#include "isotope/base/code.hpp"
#include "isotope/device/team.hpp"

namespace isotope::detail {

/// What the host will throw for a fault.
ISOTOPE_HD constexpr Code code_of(Fault fault) {
  switch (fault) {
    case Fault::deadline:
      return Code::timeout;
    case Fault::aborted:
      return Code::aborted;
    case Fault::null_pointer:
      return Code::invalid_argument;
    case Fault::misaligned:
      return Code::misaligned;
    case Fault::not_symmetric:
      return Code::not_symmetric;
    case Fault::mismatch:
    case Fault::refused_there:
      return Code::mismatch;
    case Fault::unsupported:
      return Code::not_supported;
    case Fault::overlap:
      return Code::invalid_argument;
    case Fault::rank:
    case Fault::index:
    case Fault::past_object:
      break;
  }
  return Code::out_of_range;
}

/// The fault of an argument, in a few words.
ISOTOPE_HD constexpr const char* fault_text(Fault fault) {
  switch (fault) {
    case Fault::rank:
      return "is no rank of the team";
    case Fault::index:
      return "is no index that this call takes";
    case Fault::null_pointer:
      return "is null";
    case Fault::misaligned:
      return "is not aligned to its size";
    case Fault::not_symmetric:
      return "lies in no symmetric object";
    case Fault::past_object:
      return "reaches past the end of its symmetric object";
    case Fault::overlap:
      return "overlaps another argument of the call";
    case Fault::unsupported:
      return "is nothing that this call can do";
    case Fault::mismatch:
      return "is not the same on all members";
    case Fault::refused_there:
      return "was refused by another member";
    case Fault::deadline:
    case Fault::aborted:
      break;
  }
  return "was not waited for to the end";
}

/// 0 while the team works, or the code of the fault that stopped it. By one thread.
ISOTOPE_HD int outcome(const Team& team) {
  if (!team.stopped()) return 0;
  const FaultRecord& fault = *team.state().control->fault;
  // Stopped, and the record is another's that is still being written, or was reported: the job is in trouble anyway.
  if (load(&fault.complete, Order::acquire) == 0) return static_cast<int>(Code::aborted);
  return static_cast<int>(code_of(fault.fault));
}

/// Bytes from the first to the last of `count` elements, `stride` apart. What does not fit in a size is the largest
/// one, which no object has.
ISOTOPE_HD constexpr std::size_t strided_bytes(std::size_t count, std::size_t stride, std::size_t each) {
  if (count == 0) return 0;
  constexpr std::size_t kMost = ~std::size_t{0};
  if (stride != 0 && count - 1 > (kMost / each - 1) / stride) return kMost;
  return ((count - 1) * stride + 1) * each;
}

/// What is known about a call while its arguments are looked at.
struct Call {
  const char* name;
  CallSite site;
};

// Takes the state, not the Team: a Team whose address leaves the caller cannot stay in registers.
ISOTOPE_COLD void record_refusal(TeamState& team, Call call, Fault why, const char* argument, std::int64_t value,
                                 std::int64_t low, std::int64_t high) {
  FaultRecord fault;
  fault.fault = why;
  fault.call = call.name;
  fault.site = call.site;
  fault.argument = argument;
  fault.value = value;
  fault.low = low;
  fault.high = high;
  platform::refused(call.name, call.site, argument, fault_text(why));
  record_fault(team, fault);
}

ISOTOPE_HD bool refuse(const Team& team, Call call, Fault why, const char* argument, std::int64_t value,
                       std::int64_t low, std::int64_t high) {
  record_refusal(team.state(), call, why, argument, value, low, high);
  team.mark_stopped();
  return false;
}

ISOTOPE_HD bool rank_is_good(const Team& team, Call call, const char* argument, int rank) {
  if (team.reachable(rank)) return true;
  return refuse(team, call, Fault::rank, argument, rank, 0, team.size());
}

ISOTOPE_HD bool index_is_good(const Team& team, Call call, const char* argument, std::int64_t index,
                              std::int64_t count) {
  if (index >= 0 && index < count) return true;
  return refuse(team, call, Fault::index, argument, index, 0, count);
}

ISOTOPE_HD bool stride_is_good(const Team& team, Call call, const char* argument, std::size_t stride) {
  if (stride != 0) return true;
  return refuse(team, call, Fault::index, argument, 0, 1, std::int64_t{1} << 62);
}

/// `bytes` at `p` that only this PE touches: not null unless empty.
ISOTOPE_HD bool local_is_good(const Team& team, Call call, const char* argument, const void* p, std::size_t bytes) {
  if (p != nullptr || bytes == 0) return true;
  return refuse(team, call, Fault::null_pointer, argument, static_cast<std::int64_t>(bytes), 0, 0);
}

/// `bytes` at `p`, in one symmetric object, aligned to `alignment`, a power of two.
ISOTOPE_FLAT bool symmetric_is_good(const Team& team, const Call& call, const char* argument, const void* p,
                                    std::size_t bytes, std::size_t alignment = 1) {
  if (bytes == 0) return true;
  const auto size = static_cast<std::int64_t>(bytes);
  if (p == nullptr) return refuse(team, call, Fault::null_pointer, argument, size, 0, 0);
  const auto address = reinterpret_cast<std::uint64_t>(p);
  const auto value = static_cast<std::int64_t>(address);
  if ((address & (alignment - 1)) != 0)
    return refuse(team, call, Fault::misaligned, argument, value, static_cast<std::int64_t>(alignment), size);
  const ObjectRange object = find_object(team.state().control->objects, address);
  if (object.bytes == 0) return refuse(team, call, Fault::not_symmetric, argument, value, 0, size);
  const std::uint64_t left = object.bytes - (address - object.begin);
  if (bytes <= left) return true;
  return refuse(team, call, Fault::past_object, argument, value, static_cast<std::int64_t>(left), size);
}

inline constexpr bool kCheckRanks = ISOTOPE_CHECK_RANKS != 0;
inline constexpr bool kCheckAddresses = ISOTOPE_CHECKED != 0;

/// The usual check of a remote call: member `rank`, and `bytes` of the symmetric argument `p`.
ISOTOPE_HD bool remote_is_good(const Team& team, Call call, const char* rank_name, int rank, const char* argument,
                               const void* p, std::size_t bytes, std::size_t alignment = 1) {
  if constexpr (kCheckRanks) {
    if (!rank_is_good(team, call, rank_name, rank)) return false;
  }
  if constexpr (kCheckAddresses) {
    if (!symmetric_is_good(team, call, argument, p, bytes, alignment)) return false;
  }
  return true;
}

}  // namespace isotope::detail
