// Protocol advice: what was no bug in this run but breaks easily. Off unless asked for, and never a finding.
//
//   equality     a wait for exactly N on a word that others count up: one more, and it waits for ever
//   reset        a flag that somebody waits for and that is taken back: whoever is late, or a round ahead, is lost
//   scope        an atomic access of another PE's memory at a scope that does not reach that PE
//   sentinel     a poll for "not that value" on a word that carries data: data of that value never arrives
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/location.hpp"
#include "check/task.hpp"
#include "isotope/base/order.hpp"

namespace isotope::check {

/// One piece of advice. `place` holds a program counter as it travels in reports, or a file and line.
struct AdviceNote {
  std::string kind, place, text;
};

// ---- the run's side: every call does nothing unless turn_on_advice() came before ------------------------------------
void turn_on_advice();
bool advice_is_on() noexcept;
/// An atomic access, before it happens.
void advise_access(const Task& task, std::uintptr_t address, Scope scope, const void* pc);
/// The program waits through the library.
void advise_wait(const WaitInfo& wait);
/// A load of the program's own has read `value`.
void advise_load(const Task& task, const Location& location, std::uint64_t value, const void* pc);
/// The task writes, or the library is about to poll again: what it loaded so far is no loop of its own that only looks.
void advise_no_poll(const Task& task);
/// Everything there is to say at the end of the run, for the parent process.
std::string advice_text();

// ---- the parent's side ----------------------------------------------------------------------------------------------
/// Adds what advice_text() said of one run to `lines`, each once per kind and source line.
class AdviceBook {
 public:
  void add(const std::string& text);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> seen_;
  std::vector<std::string> lines_;
};

}  // namespace isotope::check
