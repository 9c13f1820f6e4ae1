// One checked run: a child process that plays one schedule and tells its parent what happened.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "check/strategy.hpp"
#include "isotope/host/check.hpp"

namespace isotope::check {

struct RunResult {
  bool found = false;
  std::string kind, verdict, report;
  std::uint64_t steps = 0;
  std::string advice;    // as advice_text() has it
  std::string step_log;  // as step_log() has it
  std::string trace;     // what an exploring Strategy wrote down
};

/// What the child runs on PE `pe`: returns the PE's status.
using PeMain = std::function<int(int pe)>;
using MakeStrategy = std::function<std::unique_ptr<Strategy>()>;

/// Plays one schedule. `quiet`: what the program prints goes nowhere.
RunResult play(const CheckOptions& options, const MakeStrategy& strategy, const PeMain& pe_main, bool quiet);

}  // namespace isotope::check
