// The checker from inside a program: runs PEs under a seeded scheduler and looks for races, deadlocks and misuse of
// memory.
//
//   CheckResult result = run_checked({.pes = 2, .schedules = 100}, [] { World world = init(); ...; });
//   EXPECT_FALSE(result.found) << result.report;
//
// For unit tests; programs are checked with `isotope check` (docs/checker.md). The calling program is built for the
// checker (isotope_add_check or isotope_check_target in CMake), has one thread and is in no job.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace isotope {

enum class CheckStrategy {
  random,      // a random thread at every step
  pct,         // priorities that change a few times
  exhaustive,  // every order that may make a difference, for small cases
};

struct CheckOptions {
  int pes = 2;
  std::uint64_t seed = 1;       // of the first schedule; the next ones count up
  std::uint64_t schedules = 1;  // how many, or at most how many for exhaustive
  CheckStrategy strategy = CheckStrategy::random;
  int depth = 3;                     // of pct: how many changes of priority
  std::uint64_t steps = 20'000'000;  // a run that takes more is a livelock
  bool leaks = true;                 // report symmetric objects that were never freed
  bool advice = false;               // gather protocol advice: what is no bug here but breaks easily
  std::string order = {};            // play this one order of an exhaustive search; strategy must be exhaustive
  bool show_steps = false;           // of one schedule: write down what every thread does, in CheckResult::step_log
  std::uint64_t first_step = 0, last_step = ~0ull;  // show_steps: of these alone
  std::string timeline =
      {};  // where to draw the schedule with the finding (or the only one): name.svg, or a trace in JSON
};

struct CheckResult {
  bool found = false;
  std::string kind;                 // "race", "deadlock", "out-of-bounds", ...
  std::string verdict;              // in a few words: "scope too narrow", "overshot", ...
  std::string report;               // for people
  std::uint64_t seed = 0;           // of the schedule with the finding
  std::uint64_t schedules = 0;      // that were run
  std::uint64_t steps = 0;          // of all of them together
  bool complete = false;            // exhaustive: every order was tried
  std::string order;                // exhaustive: the order with the finding, for CheckOptions::order
  std::vector<std::string> advice;  // each names a line, what is risky there and what to write instead; no finding
  std::string step_log;             // of show_steps
};

/// Runs `pe_main` on each PE, once per schedule, until something is found. Each schedule is a process of its own,
/// forked from this one. Throws Error(not_supported) in a program that was not built for the checker.
CheckResult run_checked(const CheckOptions& options, const std::function<void()>& pe_main);

/// `isotope check`: runs a program that isotope_add_check built, in place of the calling process. Throws
/// Error(invalid_argument, not_supported) when there is no such program or it is not built for the checker.
[[noreturn]] void run_check_program(const CheckOptions& options, const std::vector<std::string>& argv);

}  // namespace isotope
