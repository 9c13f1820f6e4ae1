// Step by step: what each thread did in a schedule that is played again, in order, in words.
//
// One line for every access of watched memory, every sync, wait and fence: step, PE, block, thread, what, where, line.
// The line is built in the child process; the parent puts file and line in place of program counters and folds it to 80
// columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "check/task.hpp"
#include "isotope/base/order.hpp"

namespace isotope::check {

/// From here on steps `first` to `last` are written down.
void log_steps(std::uint64_t first, std::uint64_t last);
bool logging_steps() noexcept;

/// The current task did this. `pc` may be null.
void log_event(const Task& task, const std::string& what, const void* pc = nullptr);
/// An atomic access: "loads 1 from", "stores 2 to". The host's own of the library's words are left out.
void log_atomic(const Task& task, const std::string& what, const void* word, Order order, Scope scope, const void* pc);
/// A plain one, before it happens.
void log_plain(const Task& task, std::uintptr_t address, std::size_t bytes, bool writes, const void* pc);

/// Everything that was written down, for the parent process.
std::string step_log();
/// As people read it: a heading, lines of at most 80 columns.
std::string step_log_for_people(const std::string& log);

}  // namespace isotope::check
