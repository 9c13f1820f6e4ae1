// Reports of races, and of accesses to memory that is no one's or holds nothing.
#include <fmt/format.h>

#include "check/findings.hpp"
#include "check/location.hpp"
#include "check/memory.hpp"
#include "check/older.hpp"
#include "check/pending.hpp"
#include "check/scheduler.hpp"
#include "check/text.hpp"

namespace isotope::check {

namespace {

/// "wrote", "atomically read (system scope)".
std::string deed(const Access& access, bool past) {
  const char* verb = access.writes() ? (past ? "wrote" : "writes") : (past ? "read" : "reads");
  const int bytes = __builtin_popcount(access.mask);
  if (!access.atomic()) return fmt::format("{} {} bytes", verb, bytes);
  return fmt::format("{} {} bytes atomically ({} scope)", verb, bytes, scope_text(access.scope()));
}

std::string level_name(Level level) {
  return level == Level::system ? "system" : level == Level::device ? "device" : "block";
}

struct Edge {
  std::string verdict, text;
};

/// Why a store that the second thread did read has not synchronised with it.
Edge explain_miss(const Task& task, const NearMiss& miss) {
  const StoreRecord& store = *miss.store;
  const Level needed = distance(task, store.pe, store.block_key);
  const std::string word = memory().describe(reinterpret_cast<std::uintptr_t>(miss.address)).text;
  const std::string read =
      fmt::format("  It was told by {}:\n    stored at {} ({}, {} scope), read at {} ({}, {} scope).\n", word,
                  pc_text(store.pc), order_text(store.order), scope_text(store.scope), pc_text(miss.pc),
                  order_text(miss.order), scope_text(miss.scope));
  const std::string whom = needed == Level::system ? fmt::format("PE {}", task.pe) : "a thread of another block";
  // The widest level that the store, or the fence before it, released to.
  int widest = -1;
  for (int level = 0; level < kLevels; ++level) widest = store.released[level] != nullptr ? level : widest;
  if (widest < 0)
    return {"release missing", read + "  That store is relaxed and no fence comes before it: it releases nothing."};
  if (store.released[static_cast<int>(needed)] == nullptr) {
    return {"scope too narrow", read + fmt::format("  Released at {} scope; {} needs {}.",
                                                   level_name(static_cast<Level>(widest)), whom, level_name(needed))};
  }
  if (level_of(miss.scope) < needed) {
    return {
        "scope too narrow",
        read + fmt::format("  Acquired at {} scope; what {} released needs {}.", scope_text(miss.scope),
                           store.pe == task.pe ? "another block" : fmt::format("PE {}", store.pe), level_name(needed))};
  }
  return {"acquire missing", read + "  That load is relaxed and no fence comes after it: it acquires nothing."};
}

/// A store that knew of the first access, and that the second thread or one of its block has read in vain.
const NearMiss* find_miss(const Task& task, const Access& before) {
  std::vector<const std::vector<NearMiss>*> read = {&task.near_misses};
  if (task.block != nullptr) {
    for (const Task* sibling : task.block->tasks) {
      if (sibling != nullptr) read.push_back(&sibling->near_misses);
    }
    read.push_back(&task.block->misses_of_returned);
  }
  for (const auto* misses : read) {
    for (auto miss = misses->rbegin(); miss != misses->rend(); ++miss) {
      if (miss->store->clock.covers(before.task(), before.epoch)) return &*miss;
    }
  }
  return nullptr;
}

Edge missing_edge(const Task& task, const Access& before, const Access& now) {
  const Incarnation& first = Scheduler::instance().who(before.task(), before.epoch);
  const Level level = distance(task, first.pe, first.block_key);
  if (before.atomic() && now.atomic()) {
    const bool second = level_of(now.scope()) < level;
    return {"scope too narrow",
            fmt::format("  Both are atomic, but {} scope of the {} does not reach {}; it needs {}.",
                        scope_text(second ? now.scope() : before.scope()), second ? "second" : "first",
                        level == Level::system ? fmt::format("PE {}", second ? first.pe : task.pe) : "another block",
                        level_name(level))};
  }
  if (first.kind == TaskKind::delivery) {
    return {"put not complete",
            "  The put is non-blocking: put a fence or quiet between it and the signal, or a quiet\n"
            "  before its source is used again."};
  }
  if (task.kind == TaskKind::delivery) {
    return {"put not complete",
            "  The second is a non-blocking put on its way: what it touches is its own until quiet."};
  }
  if (const NearMiss* miss = find_miss(task, before)) return explain_miss(task, *miss);
  if (level == Level::block) {
    return {"block sync missing", "  Both are threads of one block: a block.sync() between the two is missing."};
  }
  // The first thread has told the second one something, but did this afterwards.
  if (first.kind == TaskKind::kernel && task.clock.covers(before.task(), first.from)) {
    return {"signalled too early",
            fmt::format("  What the second thread has acquired was released before the first access, not after it:\n"
                        "  the signal comes too early, or one of an earlier round is taken for it.")};
  }
  // A thread of the second one's block knows of it.
  if (task.block != nullptr) {
    for (const Task* sibling : task.block->tasks) {
      if (sibling == nullptr || sibling == &task || !sibling->clock.covers(before.task(), before.epoch)) continue;
      return {
          "block sync missing",
          fmt::format("  Thread {} of the second one's block has acquired it: a block.sync() after that is missing.",
                      sibling->thread.thread_rank)};
    }
  }
  // Someone of the first one's block has told the second, but knew nothing of the first access.
  if (first.kind == TaskKind::kernel) {
    for (const TaskId other : Scheduler::instance().threads_of(first.block_key)) {
      const Incarnation& teller = Scheduler::instance().who(other, task.clock.at(other));
      if (other == before.task() || teller.block_key != first.block_key || teller.from > task.clock.at(other)) continue;
      return {"block sync missing",
              fmt::format("  Thread {} of that block released to PE {}, but nothing ordered thread {}'s access\n"
                          "  before that: a block.sync() in front of the release is missing.",
                          teller.thread, task.pe, first.thread)};
    }
  }
  if (before.wide() || now.wide()) {
    return {"wide access in pieces",
            "  A plain access of a vector is not whole: its parts are seen at different times, a flag in\n"
            "  it before the data. Use store16 and load16, or signal with a release."};
  }
  return {kUnexplained, fmt::format("  Nothing orders the two: no release at {} scope after the first access that the\n"
                                    "  second thread acquires before its own.",
                                    level_name(level))};
}

}  // namespace

void report_race(const Task& task, std::uintptr_t address, const Access& before, const Access& now) {
  if (race_is_pending()) return;
  const Edge edge = missing_edge(task, before, now);
  const std::string text =
      fmt::format("data race on {}\n  {} {}\n    at {}\n  {} {}\n    at {}\n", memory().describe(address).text,
                  who_text(before.task(), before.epoch), deed(before, true), pc_text(before.pc()), who_text(task),
                  deed(now, false), pc_text(now.pc()));
  if (edge.verdict != kUnexplained) finish("race", edge.verdict, text + edge.text);
  // One of the two may have been meant to wait, and another thread of its block does.
  const Incarnation& first = Scheduler::instance().who(before.task(), before.epoch);
  const bool kernel = task.kind == TaskKind::kernel;
  put_off({text,
           edge.text,
           {{kernel ? task.block->key : 0, task.thread.thread_rank, before.task(), before.epoch},
            {first.kind == TaskKind::kernel ? first.block_key : 0, first.thread, task.id, now.epoch}}});
}

void report_no_object(const Task& task, std::uintptr_t address, std::uint8_t mask, const Cell& cell,
                      const Access& now) {
  const bool freed = (cell.was_live & mask) != 0;
  const std::string text =
      fmt::format("{}: {}\n  {} {}\n    at {}", freed ? "use after free" : "out of bounds",
                  memory().describe(address).text, who_text(task), deed(now, false), pc_text(now.pc()));
  finish(freed ? "use-after-free" : "out-of-bounds", freed ? "use after free" : "out of bounds", text);
}

void report_unwritten(const Task& task, std::uintptr_t address, std::uint8_t, const Access& now) {
  const std::string text =
      fmt::format("read of memory that no one wrote: {}\n  {} {}\n    at {}\n  Allocate it zeroed, or write it first.",
                  memory().describe(address).text, who_text(task), deed(now, false), pc_text(now.pc()));
  finish("uninitialised", "never written", text);
}

void report_exception(const Task& task, const std::string& what) {
  finish("error", "error", fmt::format("{} ended with an error\n  {}", who_text(task), what) + older_seen_text());
}

void report_stack_overflow(const Task& task) {
  finish("stack", "stack overflow",
         fmt::format("stack overflow\n  {}\n  Raise ISOTOPE_STACK_BYTES or keep large arrays in shared memory.",
                     who_text(task)));
}

void report_livelock(const Task& task, const std::string& why) {
  finish("livelock", "livelock",
         fmt::format("livelock: {}\n  last to run: {}\n    at {}", why, who_text(task), pc_text(task.last_pc)));
}

void report_refused(const Task& task, const char* call, CallSite site, const char* argument, const char* why) {
  finish("bad-argument", std::string(argument) + " " + why,
         fmt::format("bad argument: `{}` of {} {}\n  {}\n    at {}", argument, call, why, who_text(task),
                     site_text(site)));
}

void report_leaks() {
  const auto leaks = memory().leaks();
  if (leaks.empty()) return;
  std::string text = "symmetric objects were never freed";
  for (const Object* one : leaks) {
    text += fmt::format("\n  object {} ({} bytes, allocated at {}), held by PE", one->id, one->bytes, one->site);
    for (std::size_t pe = 0; pe < one->held.size(); ++pe) {
      if (one->held[pe]) text += fmt::format(" {}", pe);
    }
  }
  finish("leak", "leak", text);
}

}  // namespace isotope::check
