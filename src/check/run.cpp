#include "check/run.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "check/findings.hpp"
#include "check/scheduler.hpp"
#include "check/source.hpp"
#include "check/text.hpp"
#include "check/timeline.hpp"
#include "isotope/base/error.hpp"
#include "os/child.hpp"
#include "os/process.hpp"
#include "os/signals.hpp"
#include "os/spawn.hpp"
#include "runtime/knobs.hpp"

namespace isotope::check {

namespace {

constexpr char kField = '\x03';
/// A loop that never comes to the checker can be stopped only so. Far longer than any run that makes progress.
constexpr unsigned kMostSeconds = 300;

// Of the child.
CheckOptions g_options;
const std::function<void(const std::string&)>* g_send = nullptr;
Strategy* g_strategy = nullptr;

void draw(const std::string& title) {
  if (g_options.timeline.empty()) return;
  try {
    write_timeline(g_options.timeline, title);
  } catch (const Error& error) {
    std::fputs(fmt::format("isotope check: {}\n", error.what()).c_str(), stderr);
  }
}

[[noreturn]] void tell(const std::string& kind, const std::string& verdict, const std::string& text) {
  std::string message = fmt::format("{}{}{}{}{}{}{}{}", kind, kField, verdict, kField, text, kField,
                                    Scheduler::current() != nullptr ? Scheduler::instance().steps() : 0, kField);
  if (g_strategy != nullptr) message += g_strategy->trace();
  if (!kind.empty()) draw(verdict);
  os::flush_stdio();
  (*g_send)(message);
  os::exit_now(0);
}

void crashed(int signal, const void* pc) {
  const Task* task = Scheduler::current();
  if (signal == SIGALRM && task != nullptr)
    report_livelock(*task, fmt::format("the run has taken {} s, and whoever runs comes to no end", kMostSeconds));
  finish("crash", os::signal_name(signal),
         fmt::format("crash: {}\n  {}\n    at {}", os::signal_name(signal), task != nullptr ? who_text(*task) : "outside of any PE",
                     pc_text(signal == SIGABRT && task != nullptr ? task->last_pc : pc)));
}

void play_here(const CheckOptions& options, const MakeStrategy& make, const PeMain& pe_main) {
  g_options = options;
  os::on_crash(&crashed);
  os::crash_after(kMostSeconds);
  const runtime::Knobs knobs = runtime::read_knobs();
  if (knobs.heap_max_bytes == 0) os::set_environment("ISOTOPE_HEAP_MAX", "1GiB");
  const std::unique_ptr<Strategy> strategy = make();
  g_strategy = strategy.get();
  Scheduler scheduler(*strategy, {.steps = options.steps, .stack_bytes = knobs.stack_bytes});
  scheduler.run(options.pes, [&](int pe) {
    const int status = pe_main(pe);
    if (status != 0) {
      finish("failure", "wrong result",
             fmt::format("PE {} returned {}: the program itself says that something is wrong", pe, status));
    }
  });
  if (options.leaks) report_leaks();
  if (options.schedules == 1) draw("no finding");
  const std::uint64_t steps = scheduler.steps();
  std::string message = fmt::format("{}{}{}{}{}", kField, kField, kField, steps, kField);
  message += strategy->trace();
  os::flush_stdio();
  (*g_send)(message);
}

}  // namespace

void finish(const std::string& kind, const std::string& verdict, const std::string& text) { tell(kind, verdict, text); }

RunResult play(const CheckOptions& options, const MakeStrategy& strategy, const PeMain& pe_main, bool quiet) {
  const os::ChildResult child = os::run_child(quiet, [&](const std::function<void(const std::string&)>& send) {
    g_send = &send;
    play_here(options, strategy, pe_main);
  });
  RunResult result;
  std::vector<std::string> fields;
  std::size_t at = 0;
  for (int i = 0; i < 4; ++i) {
    const std::size_t end = child.bytes.find(kField, at);
    if (end == std::string::npos) break;
    fields.push_back(child.bytes.substr(at, end - at));
    at = end + 1;
  }
  if (fields.size() < 4) {
    result.found = true;
    result.kind = "crash";
    result.verdict = child.exited ? "ended early" : os::signal_name(child.status);
    result.report = child.exited ? fmt::format("the program ended with status {} before its PEs did", child.status)
                                 : fmt::format("the program was ended by {}", os::signal_name(child.status));
    return result;
  }
  result.found = !fields[0].empty();
  result.kind = fields[0];
  result.verdict = fields[1];
  result.report = with_source_lines(fields[2]);
  result.steps = std::strtoull(fields[3].c_str(), nullptr, 10);
  result.trace = child.bytes.substr(at);
  return result;
}

}  // namespace isotope::check
