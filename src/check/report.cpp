#include "check/report.hpp"

#include <fmt/format.h>

#include <cstdio>

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
std::string replay_command(const CheckOptions& options, const CheckResult& result, const std::vector<std::string>& argv) {
  std::string command = fmt::format("isotope check -n {}", options.pes);
  if (options.strategy == CheckStrategy::exhaustive) {
    command += " --strategy exhaustive";
  } else {
    if (options.strategy == CheckStrategy::pct) command += fmt::format(" --strategy pct --depth {}", options.depth);
    command += fmt::format(" --seed {}", result.seed);
  }
  if (!options.leaks) command += " --no-leaks";
  for (const std::string& word : argv) command += " " + quoted(word);
  return command;
}

/// Lines of at most 80 columns: what is longer goes on below, indented.
std::string wrapped(const std::string& text) {
  constexpr std::size_t kColumns = 80;
  std::string out, line;
  const auto flush = [&] {
    std::size_t indent = line.find_first_not_of(' ');
    indent = indent == std::string::npos ? 0 : indent;
    while (line.size() > kColumns) {
      std::size_t cut = line.rfind(' ', kColumns);
      if (cut == std::string::npos || cut <= indent) break;  // one long word
      out += line.substr(0, cut) + '\n';
      line = std::string(indent + 4, ' ') + line.substr(cut + 1);
      indent += 4;
    }
    out += line;
    line.clear();
  };
  for (const char c : text) {
    if (c != '\n') {
      line += c;
      continue;
    }
    flush();
    out += '\n';
  }
  flush();
  return out;
}

}  // namespace

int print_result(const CheckOptions& options, const CheckResult& result, const std::vector<std::string>& argv) {
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
    std::fflush(stdout);
    return 0;
  }
  // The first line of a report says what it is.
  const std::string report = wrapped("isotope check: " + result.report);
  const std::size_t line = report.find('\n');
  fmt::print("{}{}{}{}\n", bold, report.substr(0, line), off, line == std::string::npos ? "" : report.substr(line));
  fmt::print("  verdict: {} ({})\n", result.verdict, result.kind);
  fmt::print("found after {}\nreplay: {}\n", schedules, replay_command(options, result, argv));
  std::fflush(stdout);
  return 1;
}

}  // namespace isotope::check
