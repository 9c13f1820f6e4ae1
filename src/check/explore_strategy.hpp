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

struct ExploredStep {
  TaskId chosen = 0;
  std::vector<Candidate> candidates;
};

struct ExploredTrace {
  bool pruned = false;  // nothing but what was tried before came next
  std::vector<ExploredStep> steps;
};

ExploredTrace parse_trace(const std::string& text);

/// `sleeping`: tasks that need not run first after `beginning`.
std::unique_ptr<Strategy> explore_strategy(std::vector<TaskId> beginning, std::set<TaskId> sleeping);

}  // namespace isotope::check
