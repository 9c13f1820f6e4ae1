#include "check/report.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "check/explore_strategy.hpp"
#include "check/text.hpp"
#include "isotope/host/info.hpp"

namespace isotope::check {

namespace {

const char* name_of(CheckStrategy strategy) {
  return strategy == CheckStrategy::pct ? "pct" : strategy == CheckStrategy::exhaustive ? "exhaustive" : "random";
}

std::string quoted(const std::string& word) {
  if (word.find_first_of(" \t'\"$&|;<>()*?[]#~`\\!{}") == std::string::npos && !word.empty()) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// The one command that plays the schedule with the finding.
std::string replay_command(const CheckOptions& options, const CheckResult& result,
                           const std::vector<std::string>& argv) {
  std::string command = fmt::format("isotope check -n {}", options.pes);
  if (options.strategy == CheckStrategy::exhaustive) {
    command += " --order " + result.order;
  } else {
    if (options.strategy == CheckStrategy::pct) command += fmt::format(" --strategy pct --depth {}", options.depth);
    command += fmt::format(" --seed {}", result.seed);
  }
  if (options.steps != CheckOptions{}.steps) command += fmt::format(" --max-steps {}", options.steps);
  if (!options.leaks) command += " --no-leaks";
  for (const std::string& word : argv) command += " " + quoted(word);
  return command;
}

int print_finding(const CheckOptions& options, const CheckResult& result, const std::vector<std::string>& argv) {
  const bool color = use_color(1);
  const char* bold = color ? "\033[1;31m" : "";
  const char* good = color ? "\033[1;32m" : "";
  const char* off = color ? "\033[0m" : "";
  const bool one = result.schedules == 1;
  const std::string schedules = fmt::format("{} schedule{} ({}, {} PEs, {} steps)", result.schedules, one ? "" : "s",
                                            name_of(options.strategy), options.pes, result.steps);
  if (!result.found) {
    const char* all = options.strategy != CheckStrategy::exhaustive ? ""
                      : result.complete                             ? "; every order was tried"
                                                                    : "; not every order was tried";
    fmt::print("{}isotope check: no finding{} in {}{}\n", good, off, schedules, all);
    return 0;
  }
  // The first line of a report says what it is.
  const std::string report = folded("isotope check: " + result.report);
  const std::size_t line = report.find('\n');
  fmt::print("{}{}{}{}\n", bold, report.substr(0, line), off, line == std::string::npos ? "" : report.substr(line));
  fmt::print("  verdict: {} ({})\n", result.verdict, result.kind);
  // What does not fit is a mistake on the line: playing it again shows nothing.
  if (result.kind == kBadOrder) return 2;
  fmt::print("found after {}\nreplay: {}\n", schedules, replay_command(options, result, argv));
  return 1;
}

}  // namespace

int print_result(const CheckOptions& options, const CheckResult& result, const std::vector<std::string>& argv) {
  if (options.show_steps) fmt::print("{}", result.step_log);
  const int status = print_finding(options, result, argv);
  const char* yellow = use_color(1) ? "\033[1;33m" : "";
  const char* off = use_color(1) ? "\033[0m" : "";
  for (const std::string& one : result.advice) {
    const std::string text = folded("advice: " + one);
    const std::size_t line = text.find('\n');
    fmt::print("{}{}{}{}\n", yellow, text.substr(0, line), off, text.substr(line));
  }
  if (options.advice && result.advice.empty()) fmt::print("no advice\n");
  std::fflush(stdout);
  return status;
}

}  // namespace isotope::check
