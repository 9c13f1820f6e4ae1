#include "check/run.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "check/advice.hpp"
#include "check/findings.hpp"
#include "check/older.hpp"
#include "check/pending.hpp"
#include "check/scheduler.hpp"
#include "check/source.hpp"
#include "check/step_log.hpp"
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
constexpr std::size_t kFields = 6;
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

/// What the parent is to know, in fields; the choices come last, since they hold any byte.
void send_result(const std::string& kind, const std::string& verdict, const std::string& text, std::uint64_t steps) {
  std::string message;
  for (const std::string& field : {kind, verdict, text, std::to_string(steps), advice_text(), step_log()})
    message += field + kField;
  if (g_strategy != nullptr) message += g_strategy->trace();
  os::flush_stdio();
  (*g_send)(message);
}

void crashed(int signal, const void* pc) {
  const Task* task = Scheduler::current();
  if (signal == SIGALRM && task != nullptr)
    report_livelock(*task, fmt::format("the run has taken {} s, and whoever runs comes to no end", kMostSeconds));
  finish("crash", os::signal_name(signal),
         fmt::format("crash: {}\n  {}\n    at {}", os::signal_name(signal),
                     task != nullptr ? who_text(*task) : "outside of any PE",
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
  if (options.advice) turn_on_advice();
  if (options.show_steps) log_steps(options.first_step, options.last_step);
  Scheduler scheduler(*strategy, {.steps = options.steps, .stack_bytes = knobs.stack_bytes});
  scheduler.run(options.pes, [&](int pe) {
    const int status = pe_main(pe);
    if (status != 0) {
      finish("failure", "wrong result",
             fmt::format("PE {} returned {}: the program itself says that something is wrong", pe, status) +
                 older_seen_text());
    }
  });
  std::string kind, verdict = "no finding", text;
  if (!take_pending(kind, verdict, text) && options.leaks) report_leaks();
  if (options.schedules == 1 || !kind.empty()) draw(verdict);
  send_result(kind, kind.empty() ? "" : verdict, text, scheduler.steps());
}

}  // namespace

void finish(const std::string& kind_found, const std::string& verdict_found, const std::string& text_found) {
  std::string kind = kind_found, verdict = verdict_found, text = text_found;
  // What comes after a race may be its doing.
  take_pending(kind, verdict, text);
  if (Task* last = Scheduler::current()) ++last->bookkeeping;  // what follows is not the program's doing
  if (!kind.empty()) {
    if (const Task* last = Scheduler::current()) log_event(*last, "finding: " + verdict);
    draw(verdict);
  }
  send_result(kind, verdict, text, Scheduler::current() != nullptr ? Scheduler::instance().steps() : 0);
  os::exit_now(0);
}

RunResult play(const CheckOptions& options, const MakeStrategy& strategy, const PeMain& pe_main, bool quiet) {
  const os::ChildResult child = os::run_child(quiet, [&](const std::function<void(const std::string&)>& send) {
    g_send = &send;
    play_here(options, strategy, pe_main);
  });
  RunResult result;
  std::vector<std::string> fields;
  std::size_t at = 0;
  for (std::size_t i = 0; i < kFields; ++i) {
    const std::size_t end = child.bytes.find(kField, at);
    if (end == std::string::npos) break;
    fields.push_back(child.bytes.substr(at, end - at));
    at = end + 1;
  }
  if (fields.size() < kFields) {
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
  result.advice = fields[4];
  result.step_log = fields[5];
  result.trace = child.bytes.substr(at);
  return result;
}

}  // namespace isotope::check
