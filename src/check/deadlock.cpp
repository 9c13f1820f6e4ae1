// The report of a run in which nobody can go on: who waits for what, who wrote it last, and why it never came.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "check/findings.hpp"
#include "check/launches.hpp"
#include "check/memory.hpp"
#include "check/scheduler.hpp"
#include "check/text.hpp"
#include "isotope/device/wait.hpp"

namespace isotope::check {

namespace {

constexpr int kMostNamed = 12;

/// Ordered by how much they explain: the first of a report is its verdict.
enum class Why { divergent, collectives, overshot, reset, wrong_pe, shapes, never_sent, none };

const char* verdict_text(Why why) {
  switch (why) {
    case Why::divergent:
      return "barrier not reached by all threads";
    case Why::collectives:
      return "different collectives";
    case Why::overshot:
      return "overshot";
    case Why::reset:
      return "reset too early";
    case Why::wrong_pe:
      return "sent to the wrong PE";
    case Why::shapes:
      return "different launch shapes";
    case Why::never_sent:
      return "never sent";
    case Why::none:
      break;
  }
  return "nobody can go on";
}

std::uint64_t value_at(const void* word, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, word, bytes);
  return value;
}

struct Explained {
  Why why = Why::never_sent;
  std::string text;
};

std::string written_text(const Written& what) {
  const std::string value = what.known ? fmt::format("{}", what.value) : std::string("a value, by a plain store,");
  return fmt::format("{} by {}\n      at {} (step {})", value, who_text(what.task, what.epoch), pc_text(what.pc),
                     what.step);
}

Explained explain(const WaitInfo& wait) {
  Scheduler& scheduler = Scheduler::instance();
  const std::uint64_t found = value_at(wait.word, wait.bytes);
  const Location* location = scheduler.find_location(wait.word);
  Explained result;
  if (location != nullptr && !location->history.empty()) {
    result.text = fmt::format("    last write: {}\n", written_text(location->history.back()));
    for (std::size_t i = location->history.size(); i-- > 0;) {
      const Written& old = location->history[i];
      if (!old.known || !isotope::detail::compare(old.value, wait.cmp, wait.expected)) continue;
      result.why = wait.cmp == Cmp::eq && found > wait.expected ? Why::overshot : Why::reset;
      result.text += fmt::format("    it was {} at step {}", old.value, old.step);
      if (i + 1 < location->history.size()) {
        const Written& next = location->history[i + 1];
        result.text += fmt::format("; then {}", written_text(next));
      }
      result.text += '\n';
      return result;
    }
  } else {
    result.text = "    nobody has ever written it\n";
  }
  if (wait.cmp == Cmp::eq && found > wait.expected) {
    result.why = Why::overshot;
    return result;
  }
  // The same word of another PE has what this one waits for, and nobody there asked for it.
  const auto address = reinterpret_cast<std::uintptr_t>(wait.word);
  const int mine = memory().pe_of(address);
  for (int pe = 0; mine >= 0 && pe < scheduler.pes(); ++pe) {
    if (pe == mine) continue;
    const auto* theirs = reinterpret_cast<const void*>(memory().on_pe(address, pe));
    const Location* other = scheduler.find_location(theirs);
    if (other == nullptr || other->history.empty() || other->waits_met != 0 || !other->lookers.empty()) continue;
    if (!isotope::detail::compare(value_at(theirs, wait.bytes), wait.cmp, wait.expected)) continue;
    result.why = Why::wrong_pe;
    result.text += fmt::format("    PE {}'s copy has it, where nobody waits for it: {}\n", pe,
                               written_text(other->history.back()));
    return result;
  }
  return result;
}

std::string ranges(std::vector<std::uint32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string text = ranks.size() == 1 ? "thread " : "threads ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text +=
        (i == 0 ? "" : ", ") + (last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]));
    i = last + 1;
  }
  return text;
}

/// Threads of one block that wait for each other: a finding only if all of them do.
Explained explain_block(const Block& block) {
  std::vector<std::uint32_t> in_sync, in_warp;
  bool others = false;
  for (const Task* one : block.tasks) {
    if (one == nullptr) continue;
    if (one->state == State::block_sync) {
      in_sync.push_back(one->thread.thread_rank);
    } else if (one->state == State::warp_sync) {
      in_warp.push_back(one->thread.thread_rank);
    } else {
      others = true;
    }
  }
  Explained result{Why::none, ""};
  if (in_sync.empty() && in_warp.empty()) return result;
  const Task& first =
      **std::find_if(block.tasks.begin(), block.tasks.end(), [](const Task* one) { return one != nullptr; });
  if (!others) {
    result.why = Why::divergent;
    result.text = fmt::format("  PE {}, block {} of kernel {}:", first.pe, block.rank, kernel_name(first.kernel));
    const auto place = [&](std::uint32_t rank) { return pc_text(block.tasks[rank]->last_pc); };
    if (!in_sync.empty())
      result.text += fmt::format("\n    {} in a block sync at {}", ranges(in_sync), place(in_sync[0]));
    if (!in_warp.empty())
      result.text += fmt::format("\n    {} in a warp sync at {}", ranges(in_warp), place(in_warp[0]));
    result.text += fmt::format("\n    {} of {} returned\n", block.returned, block.threads);
  } else if (!in_sync.empty()) {
    result.text = fmt::format("  PE {}, block {} of kernel {}: {} wait for the others in a block sync\n", first.pe,
                              block.rank, kernel_name(first.kernel), ranges(in_sync));
  }
  return result;
}

/// A loop of the program's own that polls.
std::string looks_text(const Task& task) {
  std::string text;
  for (const Look& one : task.looks) {
    text += fmt::format(
        "    for {} to change; it is {}\n", memory().describe(one.location->address).text,
        value_at(reinterpret_cast<const void*>(one.location->address), static_cast<std::size_t>(one.location->bytes)));
    if (!one.location->history.empty())
      text += fmt::format("    last write: {}\n", written_text(one.location->history.back()));
  }
  return text;
}

}  // namespace

void report_deadlock() {
  Scheduler& scheduler = Scheduler::instance();
  if (Task* last = Scheduler::current()) ++last->bookkeeping;  // what the report reads is not the program's doing
  std::vector<const Task*> tasks;
  for (const auto& one : scheduler.tasks()) tasks.push_back(one.get());
  std::sort(tasks.begin(), tasks.end(), [](const Task* a, const Task* b) {
    return std::tuple(a->pe, a->kind, a->thread.block_rank, a->thread.thread_rank) <
           std::tuple(b->pe, b->kind, b->thread.block_rank, b->thread.thread_rank);
  });
  Why worst = Why::none;
  std::string text;
  int named = 0;
  std::set<const Block*> blocks;
  std::set<std::string> collectives;
  std::set<int> host_waits;
  const auto add = [&](const Explained& one) {
    worst = std::min(worst, one.why);
    if (!one.text.empty() && ++named <= kMostNamed) text += one.text;
  };
  for (const Task* task : tasks) {
    if (task->block != nullptr && blocks.insert(task->block).second) add(explain_block(*task->block));
    if (task->wait.call != nullptr) {
      const WaitInfo& wait = task->wait;
      Explained one = explain(wait);
      if (task->kind == TaskKind::host) {
        collectives.insert(wait.call);
        host_waits.insert(task->pe);
        std::string text_of_host = fmt::format("  PE {}, host code, waits in {} at {} for PE {}", task->pe, wait.call,
                                               site_text(wait.site), wait.from);
        const bool there = std::any_of(tasks.begin(), tasks.end(), [&](const Task* other) {
          return other->kind == TaskKind::host && other->pe == wait.from;
        });
        text_of_host += there ? "\n" : ", which has ended\n";
        add({there ? Why::never_sent : Why::collectives, text_of_host});
        continue;
      }
      one.text =
          fmt::format("  {} waits in {} at {}\n    for {}\n    to be {} {}; it is {}\n{}", who_text(*task), wait.call,
                      site_text(wait.site), memory().describe(reinterpret_cast<std::uintptr_t>(wait.word)).text,
                      cmp_text(wait.cmp), wait.expected, value_at(wait.word, wait.bytes), one.text);
      add(one);
    } else if (task->state == State::looking) {
      add({Why::never_sent,
           fmt::format("  {} polls at {}\n{}", who_text(*task),
                       pc_text(task->looks.empty() ? task->last_pc : task->looks.front().pc), looks_text(*task))});
    } else if (task->state == State::host_call && task->host_call != nullptr) {
      add({Why::none, fmt::format("  {} waits in {}\n", who_text(*task), task->host_call)});
    }
  }
  if (collectives.size() > 1) worst = std::min(worst, Why::collectives);
  if (const std::string shapes = different_launches(); !shapes.empty()) {
    worst = std::min(worst, Why::shapes);
    text += "  " + shapes + "\n";
  }
  if (named > kMostNamed) text += fmt::format("  and {} more\n", named - kMostNamed);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  finish("deadlock", verdict_text(worst), fmt::format("deadlock: {}\n{}", verdict_text(worst), text));
}

}  // namespace isotope::check
