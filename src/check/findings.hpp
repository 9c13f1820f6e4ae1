// What the checker finds. Each call ends the run: the report goes to the parent process, which prints it.
#pragma once

#include <cstdint>
#include <string>

#include "check/shadow.hpp"
#include "check/task.hpp"
#include "isotope/base/call_site.hpp"

namespace isotope::check {

/// The verdict of a race that nothing in the run explains any further.
inline constexpr const char* kUnexplained = "nothing orders them";

/// Ends the run with this finding. `kind` is a short name ("race", "deadlock"), `verdict` what went wrong in a few
/// words.
[[noreturn]] void finish(const std::string& kind, const std::string& verdict, const std::string& text);

/// The only one that may come back: a race that nothing explains yet is reported when something does, or at the end.
void report_race(const Task& task, std::uintptr_t address, const Access& before, const Access& now);
[[noreturn]] void report_no_object(const Task& task, std::uintptr_t address, std::uint8_t mask, const Cell& cell,
                                   const Access& now);
[[noreturn]] void report_unwritten(const Task& task, std::uintptr_t address, std::uint8_t mask, const Access& now);
[[noreturn]] void report_exception(const Task& task, const std::string& what);
[[noreturn]] void report_stack_overflow(const Task& task);
[[noreturn]] void report_livelock(const Task& task, const std::string& why);
[[noreturn]] void report_refused(const Task& task, const char* call, CallSite site, const char* argument,
                                 const char* why);
/// Nobody can go on.
[[noreturn]] void report_deadlock();
/// Objects that were never let go of, if there are any.
void report_leaks();

}  // namespace isotope::check
