// The entry of a checked program: ISOTOPE_MAIN, run_threads and check() under the checker.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "check/advice.hpp"
#include "check/explore.hpp"
#include "check/explore_strategy.hpp"
#include "check/report.hpp"
#include "check/run.hpp"
#include "check/step_log.hpp"
#include "isotope/base/error.hpp"
#include "isotope/host/check.hpp"
#include "isotope/host/main.hpp"
#include "runtime/knobs.hpp"

// `isotope check` looks for this section.
__attribute__((section(".isotope.check"), used)) static const char isotope_check_marker[] = "isotope";

namespace isotope {

namespace {

CheckOptions parse_options(const std::string& text) {
  CheckOptions options;
  // The last one, since a path may have spaces.
  const std::size_t timeline = text.find("timeline=");
  if (timeline != std::string::npos) options.timeline = text.substr(timeline + 9);
  std::istringstream words(text.substr(0, timeline));
  std::string word;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = word.substr(0, equals);
    if (name == "order") options.order = word.substr(equals + 1);
    const std::uint64_t value = std::strtoull(word.c_str() + equals + 1, nullptr, 10);
    if (name == "pes") options.pes = static_cast<int>(value);
    if (name == "seed") options.seed = value;
    if (name == "schedules") options.schedules = value;
    if (name == "strategy") options.strategy = static_cast<CheckStrategy>(value);
    if (name == "depth") options.depth = static_cast<int>(value);
    if (name == "steps") options.steps = value;
    if (name == "leaks") options.leaks = value != 0;
    if (name == "advice") options.advice = value != 0;
    if (name == "show_steps") options.show_steps = value != 0;
    if (name == "first_step") options.first_step = value;
    if (name == "last_step") options.last_step = value;
  }
  return options;
}

void refuse_bad(const CheckOptions& options) {
  if (options.pes < 1 || options.pes > 1024)
    throw Error(Code::invalid_argument, fmt::format("check: {} PEs; 1 to 1024 were expected", options.pes));
  if (!options.order.empty() && options.strategy != CheckStrategy::exhaustive)
    throw Error(Code::invalid_argument, "check: an order belongs to the exhaustive strategy; set that too");
  const bool several = options.schedules != 1 || options.strategy == CheckStrategy::exhaustive;
  if (options.show_steps && several && options.order.empty())
    throw Error(Code::invalid_argument, "check: steps are shown of one schedule; set schedules to 1, or an order");
}

void add_run(CheckResult& result, const check::RunResult& run) {
  ++result.schedules;
  result.steps += run.steps;
  result.found = run.found;
  result.kind = run.kind;
  result.verdict = run.verdict;
  result.report = run.report;
}

check::MakeStrategy strategy_of(const CheckOptions& options, std::uint64_t seed) {
  return [options, seed]() -> std::unique_ptr<check::Strategy> {
    if (options.strategy == CheckStrategy::pct) return check::pct_strategy(seed, options.depth, check::kPctSteps);
    return check::random_strategy(seed, options.pes);
  };
}

/// One schedule after another, until one has a finding.
CheckResult try_seeds(const CheckOptions& options, const check::PeMain& pe_main, check::AdviceBook& advice) {
  CheckResult result;
  for (std::uint64_t i = 0; i < options.schedules && !result.found; ++i) {
    const std::uint64_t seed = options.seed + i;
    const check::RunResult run = check::play(options, strategy_of(options, seed), pe_main, options.schedules != 1);
    add_run(result, run);
    advice.add(run.advice);
    if (run.found) result.seed = seed;
    if (options.show_steps) result.step_log = check::step_log_for_people(run.step_log);
  }
  return result;
}

/// One order of an exhaustive search again.
CheckResult play_order(const CheckOptions& options, const check::PeMain& pe_main, check::AdviceBook& advice) {
  CheckResult result;
  const check::Choices order = check::parse_order(options.order);
  const check::RunResult run = check::play(options, [&] { return check::explore_strategy(order, {}); }, pe_main, false);
  add_run(result, run);
  advice.add(run.advice);
  result.order = options.order;
  if (options.show_steps) result.step_log = check::step_log_for_people(run.step_log);
  return result;
}

CheckResult run_schedules(const CheckOptions& options, const check::PeMain& pe_main) {
  refuse_bad(options);
  check::AdviceBook advice;
  CheckResult result = options.strategy != CheckStrategy::exhaustive ? try_seeds(options, pe_main, advice)
                       : options.order.empty()                       ? check::explore(options, pe_main, advice)
                                                                     : play_order(options, pe_main, advice);
  result.advice = advice.lines();
  return result;
}

}  // namespace

CheckResult run_checked(const CheckOptions& options, const std::function<void()>& pe_main) {
  return run_schedules(options, [&](int) {
    pe_main();
    return 0;
  });
}

void run_threads(int n, const std::function<void()>& pe_main) {
  CheckOptions options;
  options.pes = n;
  const CheckResult result = run_checked(options, pe_main);
  if (result.found) throw Error(Code::kernel_failed, result.report);
}

namespace detail {

int run_main(int argc, char** argv, int (*pe_main)(int, char**)) {
  try {
    const runtime::Knobs knobs = runtime::read_knobs();
    if (knobs.check.empty()) {
      std::fputs("This program is built for the checker. Run it with: isotope check -n PES program [arguments...]\n",
                 stderr);
      return 2;
    }
    const CheckOptions options = parse_options(knobs.check);
    const CheckResult result = run_schedules(options, [&](int) {
      // Each PE has its own argv, as processes do: option parsers reorder it.
      std::vector<std::string> copies(argv, argv + argc);
      std::vector<char*> pointers;
      for (std::string& copy : copies) pointers.push_back(copy.data());
      pointers.push_back(nullptr);
      return pe_main(argc, pointers.data());
    });
    return check::print_result(options, result, {argv, argv + argc});
  } catch (const Error& error) {
    std::fputs(fmt::format("isotope::Error ({}): {}\n", code_name(error.code()), error.what()).c_str(), stderr);
    return error.code() == Code::invalid_argument ? 2 : 1;
  }
}

}  // namespace detail

}  // namespace isotope
