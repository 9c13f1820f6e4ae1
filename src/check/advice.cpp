#include "check/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "check/memory.hpp"
#include "check/scheduler.hpp"
#include "check/source.hpp"
#include "check/text.hpp"

namespace isotope::check {

namespace {

constexpr char kPart = '\x05', kEnd = '\x04';

struct Poll {
  const Location* location;
  const void* pc;
  std::uint64_t value;
  std::uint64_t writes;  // of the word when this value was first seen
  std::uint32_t times;
};

struct Notes {
  std::map<std::uintptr_t, std::vector<WaitInfo>> waits;  // by word
  std::map<TaskId, std::vector<Poll>> polls;              // loads of the program's own, one for each place and word
  std::vector<AdviceNote> said;
  std::set<std::pair<std::string, std::string>> places;
};

bool g_on = false;

Notes& notes() {
  static Notes* the = new Notes;
  return *the;
}

void say(const std::string& kind, const std::string& place, const std::string& text) {
  if (notes().places.insert({kind, place}).second) notes().said.push_back({kind, place, text});
}

/// Whether the word goes up while others wait for it: somebody adds, or stores a value above one that was a count
/// already. A flag that goes to 1, back to 0 and to 1 again does not.
bool counts_up(const Location& location) {
  std::uint64_t highest = 0;
  for (const Written& now : location.history) {
    if (!now.known) continue;
    if (now.value > highest && (now.added || highest != 0)) return true;
    highest = std::max(highest, now.value);
  }
  return false;
}

void advise_equality(const WaitInfo& wait, const Location& location) {
  if (wait.cmp != Cmp::eq || !counts_up(location)) return;
  say("equality", site_text(wait.site),
      fmt::format("{} for exactly {}, of a word that counts up\n"
                  "If it is at {} when the wait looks, the wait never ends. Wait with Cmp::ge.",
                  wait.call, wait.expected, wait.expected + 1));
}

void advise_reset(const WaitInfo& wait, const Location& location) {
  for (std::size_t i = 1; i < location.history.size(); ++i) {
    const Written &before = location.history[i - 1], &now = location.history[i];
    const TaskKind kind = Scheduler::instance().who(now.task, now.epoch).kind;
    const bool kernel = kind == TaskKind::kernel || kind == TaskKind::delivery;
    if (!kernel || !before.known || !now.known || now.value >= before.value) continue;
    say("reset", pc_text(now.pc),
        fmt::format("takes a flag back from {} to {} that {} waits for ({})\n"
                    "Who looks late misses it, and a signal of the next round that came early is lost. Count up, "
                    "wait with Cmp::ge and never reset; Epoch does so.",
                    before.value, now.value, wait.call, site_text(wait.site)));
  }
}

/// Whether the run has ended in the middle of its poll.
bool still_looks(TaskId poller) {
  const auto& tasks = Scheduler::instance().tasks();
  return std::any_of(tasks.begin(), tasks.end(),
                     [&](const auto& one) { return one->id == poller && one->state == State::looking; });
}

/// A poll that sees no change because what came was the very value it takes for nothing.
void advise_sentinel_sent(const Poll& poll, TaskId poller) {
  if (poll.times < 2 || poll.location->history.empty()) return;
  if (poll.location->writes == poll.writes && !still_looks(poller)) return;
  const Written& last = poll.location->history.back();
  if (!last.known || last.added || last.task == poller || last.value != poll.value) return;
  say("sentinel", pc_text(last.pc),
      fmt::format("stores {0}, which the poll at {1} takes for nothing yet\n"
                  "That poll never ends. Send a round number with the data in one store16, or map {0} to another value "
                  "before the store.",
                  value_text(last.value), pc_text(poll.pc)));
}

}  // namespace

void turn_on_advice() { g_on = true; }
bool advice_is_on() noexcept { return g_on; }

void advise_access(const Task& task, std::uintptr_t address, Scope scope, const void* pc) {
  if (!g_on || level_of(scope) == Level::system) return;
  const int pe = memory().pe_of(address);
  if (pe < 0 || pe == task.pe) return;
  say("scope", pc_text(pc),
      fmt::format("{} scope on the memory of another PE\n"
                  "A PE is a device: only Scope::system, the default, reaches another one.",
                  scope_text(scope)));
}

void advise_wait(const WaitInfo& wait) {
  if (!g_on) return;
  auto& of_word = notes().waits[reinterpret_cast<std::uintptr_t>(wait.word)];
  const bool known = std::any_of(of_word.begin(), of_word.end(), [&](const WaitInfo& one) {
    return one.cmp == wait.cmp && one.site.line == wait.site.line && one.site.file == wait.site.file;
  });
  if (!known) of_word.push_back(wait);
}

void advise_load(const Task& task, const Location& location, std::uint64_t value, const void* pc) {
  if (!g_on || task.kind != TaskKind::kernel || task.wait.call != nullptr) return;
  auto& polls = notes().polls[task.id];
  const auto poll = std::find_if(polls.begin(), polls.end(),
                                 [&](const Poll& one) { return one.location == &location && one.pc == pc; });
  if (poll == polls.end()) {
    polls.push_back({&location, pc, value, location.writes, 1});
    return;
  }
  const Poll before = *poll;
  if (before.value == value) {
    ++poll->times;
    return;
  }
  *poll = {&location, pc, value, location.writes, 1};
  // A flag or a round goes up by one, a counter by additions; what jumps there by a store is data.
  if (before.times < 2 || value == before.value + 1 || location.history.empty()) return;
  const Written& last = location.history.back();
  if (last.added || !last.known || last.task == task.id) return;
  say("sentinel", pc_text(pc),
      fmt::format(
          "polls until a word is not {0}, and then takes it for data\n"
          "Data that happens to be {0} is never noticed. Send a round number with it in one store16, or map that "
          "value to another one before the store.",
          value_text(before.value)));
}

void advise_no_poll(const Task& task) {
  if (g_on) notes().polls.erase(task.id);
}

std::string advice_text() {
  if (!g_on) return {};
  for (const auto& [word, waits] : notes().waits) {
    const Location* location = Scheduler::instance().find_location(reinterpret_cast<const void*>(word));
    if (location == nullptr) continue;
    for (const WaitInfo& wait : waits) {
      advise_equality(wait, *location);
      advise_reset(wait, *location);
    }
  }
  for (const auto& [task, polls] : notes().polls) {
    for (const Poll& poll : polls) advise_sentinel_sent(poll, task);
  }
  std::string text;
  for (const AdviceNote& one : notes().said) text += one.kind + kPart + one.place + kPart + one.text + kEnd;
  return text;
}

void AdviceBook::add(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find(kEnd, at);
    const std::string note = text.substr(at, end - at);
    at = end + 1;
    const std::size_t first = note.find(kPart), second = note.find(kPart, first + 1);
    const std::string key = note.substr(0, second);
    // Finding a line takes long, and most runs say the same.
    if (std::find(seen_.begin(), seen_.end(), key) != seen_.end()) continue;
    seen_.push_back(key);
    const std::string place = with_source_lines(note.substr(first + 1, second - first - 1));
    const std::string line = note.substr(0, first) + ": " + place.substr(0, place.find(','));
    if (std::find(seen_.begin(), seen_.end(), line) != seen_.end()) continue;
    seen_.push_back(line);
    std::string what = with_source_lines(note.substr(second + 1));
    const std::size_t break_at = what.find('\n');
    lines_.push_back(line + ": " + what.substr(0, break_at) + "\n    " + what.substr(break_at + 1));
  }
}

}  // namespace isotope::check
