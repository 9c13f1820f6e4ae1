// The child's side of an exhaustive search: plays a given beginning, then goes on in some order, and writes it down.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "check/strategy.hpp"

namespace isotope::check {

/// A task that could run at some step, and what it would have done.
struct Candidate {
  TaskId id = 0;
  std::uintptr_t address = 0;
  bool writes = false;
};

/// Whether the order of the two matters.
inline bool dependent(const Candidate& a, const Candidate& b) {
  return a.id == b.id || (a.address == b.address && (a.writes || b.writes));
}

/// A choice that was made: which of the tasks ran, or (`older` is not 0) how far back a load saw, of 0 to `older`.
struct ExploredStep {
  TaskId chosen = 0;
  std::uint32_t older = 0;
  std::vector<Candidate> candidates;
};

struct ExploredTrace {
  bool pruned = false;  // nothing but what was tried before came next
  std::vector<ExploredStep> steps;
};

ExploredTrace parse_trace(const std::string& text);

/// The kind of a finding that says: this order is none of this program's.
inline constexpr const char* kBadOrder = "bad-order";

/// Choices in turn, as ExploredStep::chosen has them.
using Choices = std::vector<TaskId>;

/// `sleeping`: tasks that need not run first after `beginning`.
std::unique_ptr<Strategy> explore_strategy(Choices beginning, std::set<TaskId> sleeping);

/// An order in words, for a command line: "4x3,7" is three times 4, then 7. parse_order throws Error(invalid_argument).
std::string order_text(const Choices& order);
Choices parse_order(const std::string& text);

}  // namespace isotope::check
