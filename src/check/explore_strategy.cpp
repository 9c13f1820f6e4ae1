#include "check/explore_strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "check/findings.hpp"
#include "check/task.hpp"
#include "isotope/base/error.hpp"

namespace isotope::check {

namespace {

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
bool take(const std::string& in, std::size_t& at, T& value) {
  if (at + sizeof value > in.size()) return false;
  std::memcpy(&value, in.data() + at, sizeof value);
  at += sizeof value;
  return true;
}

class ExploreStrategy final : public Strategy {
 public:
  ExploreStrategy(Choices beginning, std::set<TaskId> sleeping)
      : beginning_(std::move(beginning)), sleeping_(std::move(sleeping)) {}

  void announce(Task& task, const Step& step) override { next_[task.id] = step; }

  Task* choose(const std::vector<Task*>& runnable, Task* current) override {
    // Host code, and tasks that do nothing that others notice before their next step: in one order.
    if (Task* free = first_free(runnable)) {
      next_[free->id] = {};
      return free;
    }
    ExploredStep step;
    for (const Task* one : runnable) {
      const Step& next = next_[one->id];
      step.candidates.push_back({one->id, next.address, next.writes});
    }
    std::sort(step.candidates.begin(), step.candidates.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    TaskId chosen = 0;
    if (steps_ < beginning_.size()) {
      chosen = beginning_[steps_];
    } else {
      if (current != nullptr && sleeping_.count(current->id) == 0) chosen = current->id;
      for (const Candidate& one : step.candidates) {
        if (chosen == 0 && sleeping_.count(one.id) == 0) chosen = one.id;
      }
      if (chosen == 0) {
        pruned_ = true;
        finish("", "", "");
      }
    }
    const auto task =
        std::find_if(runnable.begin(), runnable.end(), [&](const Task* one) { return one->id == chosen; });
    if (task == runnable.end()) refuse_order(fmt::format("thread {} cannot run there", chosen));
    step.chosen = chosen;
    write_down(step);
    if (++steps_ > beginning_.size()) fall_asleep(step);
    next_[chosen] = {};
    return *task;
  }

  bool shows_older() const override { return true; }

  std::uint32_t choose_older(std::uint32_t count) override {
    const TaskId back = steps_ < beginning_.size() ? beginning_[steps_] : TaskId{0};
    if (back > count) refuse_order(fmt::format("a load there can see {} older values, not {}", count, back));
    ++steps_;
    put(trace_, back);
    put(trace_, count);
    put(trace_, std::uint32_t{0});
    return back;
  }

  std::string trace() const override { return std::string(1, pruned_ ? 'p' : 'c') + trace_; }

 private:
  Task* first_free(const std::vector<Task*>& runnable) {
    Task* first = nullptr;
    for (Task* one : runnable) {
      const bool host = one->kind == TaskKind::host || one->kind == TaskKind::callback;
      if (!host && next_[one->id].address != 0) continue;
      if (first == nullptr || one->id < first->id) first = one;
    }
    return first;
  }

  void write_down(const ExploredStep& step) {
    put(trace_, step.chosen);
    put(trace_, std::uint32_t{0});
    put(trace_, static_cast<std::uint32_t>(step.candidates.size()));
    for (const Candidate& one : step.candidates) put(trace_, one);
  }

  [[noreturn]] void refuse_order(const std::string& why) const {
    finish(kBadOrder, "order does not fit",
           fmt::format(
               "the order does not fit: at its choice {}, {}\n  An order belongs to one program, its arguments and "
               "its number of PEs.",
               steps_ + 1, why));
  }

  /// Whoever depends on the step has to be looked at again.
  void fall_asleep(const ExploredStep& step) {
    const auto of = [&](TaskId id) {
      return *std::find_if(step.candidates.begin(), step.candidates.end(),
                           [&](const auto& one) { return one.id == id; });
    };
    for (auto one = sleeping_.begin(); one != sleeping_.end();) {
      one = dependent(of(*one), of(step.chosen)) ? sleeping_.erase(one) : std::next(one);
    }
  }

  Choices beginning_;
  std::set<TaskId> sleeping_;
  std::map<TaskId, Step> next_;
  std::size_t steps_ = 0;
  bool pruned_ = false;
  std::string trace_;
};

}  // namespace

ExploredTrace parse_trace(const std::string& text) {
  ExploredTrace trace;
  if (text.empty()) return trace;
  trace.pruned = text[0] == 'p';
  std::size_t at = 1;
  for (;;) {
    ExploredStep step;
    std::uint32_t count = 0;
    if (!take(text, at, step.chosen) || !take(text, at, step.older) || !take(text, at, count)) return trace;
    step.candidates.resize(count);
    for (Candidate& one : step.candidates) {
      if (!take(text, at, one)) return trace;
    }
    trace.steps.push_back(std::move(step));
  }
}

std::unique_ptr<Strategy> explore_strategy(Choices beginning, std::set<TaskId> sleeping) {
  return std::make_unique<ExploreStrategy>(std::move(beginning), std::move(sleeping));
}

std::string order_text(const Choices& order) {
  std::string text;
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && order[end] == order[i]) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", order[i]);
    if (end - i > 1) text += fmt::format("x{}", end - i);
    i = end;
  }
  return text;
}

Choices parse_order(const std::string& text) {
  constexpr unsigned long kMostTimes = 10'000'000, kMostNumber = 65'535;
  Choices order;
  const auto refuse = [&] {
    throw Error(Code::invalid_argument,
                fmt::format("'{}' is no order; expected numbers as a finding of the exhaustive strategy prints them, "
                            "e.g. 3x4,5,3",
                            text));
  };
  for (const char* at = text.c_str();;) {
    const auto number = [&](unsigned long most) {
      char* end = nullptr;
      const bool digit = *at >= '0' && *at <= '9';
      const unsigned long value = std::strtoul(at, &end, 10);
      if (!digit || value > most) refuse();
      at = end;
      return value;
    };
    const auto task = static_cast<TaskId>(number(kMostNumber));
    unsigned long times = 1;
    if (*at == 'x') {
      ++at;
      times = number(kMostTimes);
    }
    order.insert(order.end(), times, task);
    if (*at == '\0') return order;
    if (*at++ != ',') refuse();
  }
}

}  // namespace isotope::check
