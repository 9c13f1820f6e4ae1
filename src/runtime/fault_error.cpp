// What a kernel's FaultRecord becomes: one Error that names the call, the place, and what was wrong.
#include <fmt/format.h>

#include <cstddef>
#include <mutex>
#include <set>
#include <string>

#include "isotope/collective/algorithm.hpp"
#include "runtime/world_core.hpp"

namespace isotope::runtime {

namespace {

const void* as_address(std::int64_t value) { return reinterpret_cast<const void*>(static_cast<std::intptr_t>(value)); }

/// Lengths are kept signed; the largest ones mean "more than fits".
std::uint64_t as_length(std::int64_t value) { return static_cast<std::uint64_t>(value); }

/// " at file:line", or nothing for a call through the C edge, which has no place.
std::string place(const CallSite& site) {
  return site.line == 0 ? std::string() : fmt::format(" at {}:{}", site.file, site.line);
}

std::string word(const FaultRecord& fault, std::uint64_t bits) {
  return fault.is_signed != 0 ? fmt::format("{}", static_cast<std::int64_t>(bits)) : fmt::format("{}", bits);
}

/// What a collective was called with, by name where the value is one of a list.
std::string named(const std::string& argument, std::int64_t value) {
  if (argument == "collective") return name_of_call(static_cast<int>(value));
  if (argument == "algorithm") return name_of(static_cast<Algo>(value));
  if (argument == "type") return name_of(static_cast<DataType>(value));
  if (argument == "accumulate") return value == 0 ? "wide" : "native";
  if (argument == "operation") return name_of(static_cast<ReduceOp>(value));
  return fmt::format("{}", value);
}

}  // namespace

Error WorldCore::fault_error(FaultRecord fault) const {
  if (gpu_ != nullptr) {
    // The Error keeps the place for good, as a literal would be.
    static std::mutex mutex;
    static std::set<std::string> files;
    const GpuPe::Texts texts = gpu_->texts_of(fault);
    fault.call = texts.call.c_str();
    fault.argument = texts.argument.c_str();
    {
      const std::lock_guard lock(mutex);
      fault.site.file = files.insert(texts.file).first->c_str();
    }
    return fault.fault == Fault::deadline || fault.fault == Fault::aborted ? wait_error(fault) : argument_error(fault);
  }
  return fault.fault == Fault::deadline || fault.fault == Fault::aborted ? wait_error(fault) : argument_error(fault);
}

Error WorldCore::wait_error(const FaultRecord& fault) const {
  static constexpr const char* kCmp[] = {"==", "!=", ">", ">=", "<", "<="};
  const std::string where =
      fmt::format("{}{} on PE {} waited {:.3g} s for {} {} {} and found {}", fault.call, place(fault.site), rank_,
                  static_cast<double>(fault.waited_ns) * 1e-9, describe(fault.address), kCmp[fault.cmp],
                  word(fault, fault.expected), word(fault, fault.found));
  if (fault.fault == Fault::aborted) {
    if (const auto notice = job_->segment().aborted()) {
      return Error(notice->code, fmt::format("{}; {}", notice->message, where), rank_, notice->peer, fault.site);
    }
  }
  const std::string from = fault.from == kNoPe ? std::string() : fmt::format("; it was to come from PE {}", fault.from);
  return Error(Code::timeout,
               fmt::format("{}{}. The deadline is ISOTOPE_WAIT_DEADLINE ({:.3g} s)", where, from,
                           static_cast<double>(control_.wait_deadline_ns) * 1e-9),
               rank_, fault.from, fault.site);
}

Error WorldCore::argument_error(const FaultRecord& fault) const {
  std::string what;
  switch (fault.fault) {
    case Fault::rank:
      what = fmt::format("{}; a rank of the team, {} to {}, was expected", fault.value, fault.low, fault.high - 1);
      break;
    case Fault::index:
      what = fmt::format("{}; {} to {} was expected", fault.value, fault.low, fault.high - 1);
      break;
    case Fault::null_pointer:
      what = fmt::format("null with a length of {} bytes; an address was expected", as_length(fault.value));
      break;
    case Fault::misaligned:
      what = fmt::format("{}, {}; a multiple of {} was expected", as_address(fault.value),
                         describe(as_address(fault.value)), fault.low);
      break;
    case Fault::not_symmetric:
      what = fmt::format("{} with {} bytes, {}; this PE's own address of a symmetric object was expected",
                         as_address(fault.value), as_length(fault.high), describe(as_address(fault.value)));
      break;
    case Fault::past_object:
      what = fmt::format("{}, {}, with {} bytes; at most {} were expected", as_address(fault.value),
                         describe(as_address(fault.value)), as_length(fault.high), as_length(fault.low));
      break;
    case Fault::unsupported:
      what = fmt::format("{}; the call has none of that name for {} and {} (docs/collectives.md has the table)",
                         name_of(static_cast<Algo>(fault.value)), name_of(static_cast<DataType>(fault.low)),
                         name_of(static_cast<ReduceOp>(fault.high)));
      break;
    case Fault::overlap:
      what = fmt::format("{} bytes that overlap another buffer of the call; separate ones were expected",
                         as_length(fault.value));
      break;
    case Fault::mismatch:
      return Error(
          Code::mismatch,
          fmt::format("{}{}: `{}` is {} on PE {} and {} on PE {}. All members have to make the same call; nothing "
                      "was moved, and the team is stopped until this error has been reported",
                      fault.call, place(fault.site), fault.argument, named(fault.argument, fault.value), rank_,
                      named(fault.argument, fault.low), fault.high),
          rank_, static_cast<int>(fault.high), fault.site);
    case Fault::refused_there:
      return Error(Code::mismatch,
                   fmt::format("{}{} on PE {}: PE {} refused this call, and its own error says why. Nothing was moved, "
                               "and the team is stopped until this error has been reported",
                               fault.call, place(fault.site), rank_, fault.high),
                   rank_, static_cast<int>(fault.high), fault.site);
    case Fault::deadline:
    case Fault::aborted:
      break;
  }
  return Error(
      detail::code_of(fault.fault),
      fmt::format("{}{} on PE {}: `{}` is {}. The call did nothing, and the team is stopped until this error has "
                  "been reported",
                  fault.call, place(fault.site), rank_, fault.argument, what),
      rank_, Error::kNobody, fault.site);
}

std::string WorldCore::describe(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const auto& weak : teams_) {
    const auto record = weak.lock();
    if (!record) continue;
    const auto words = reinterpret_cast<std::uintptr_t>(record->team.words());
    if (at >= words && at < words + sizeof(TeamWords)) {
      const std::size_t index = (at - words) / sizeof(TeamWords::Barrier);
      return fmt::format("barrier {} of a team of {}", index, record->team.size());
    }
    const auto grid = reinterpret_cast<std::uintptr_t>(record->parts.state) + offsetof(TeamState, grid);
    if (at == grid) return fmt::format("the grid of a team of {}", record->team.size());
  }
  return heap_->describe(address);
}

}  // namespace isotope::runtime
