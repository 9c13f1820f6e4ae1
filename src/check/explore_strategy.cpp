#include "check/explore_strategy.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "check/findings.hpp"
#include "check/task.hpp"

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
  ExploreStrategy(std::vector<TaskId> beginning, std::set<TaskId> sleeping)
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
    step.chosen = chosen;
    write_down(step);
    if (++steps_ > beginning_.size()) fall_asleep(step);
    Task* task = *std::find_if(runnable.begin(), runnable.end(), [&](const Task* one) { return one->id == chosen; });
    next_[chosen] = {};
    return task;
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
    put(trace_, static_cast<std::uint32_t>(step.candidates.size()));
    for (const Candidate& one : step.candidates) put(trace_, one);
  }

  /// Whoever depends on the step has to be looked at again.
  void fall_asleep(const ExploredStep& step) {
    const auto of = [&](TaskId id) {
      return *std::find_if(step.candidates.begin(), step.candidates.end(), [&](const auto& one) { return one.id == id; });
    };
    for (auto one = sleeping_.begin(); one != sleeping_.end();) {
      one = dependent(of(*one), of(step.chosen)) ? sleeping_.erase(one) : std::next(one);
    }
  }

  std::vector<TaskId> beginning_;
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
    if (!take(text, at, step.chosen) || !take(text, at, count)) return trace;
    step.candidates.resize(count);
    for (Candidate& one : step.candidates) {
      if (!take(text, at, one)) return trace;
    }
    trace.steps.push_back(std::move(step));
  }
}

std::unique_ptr<Strategy> explore_strategy(std::vector<TaskId> beginning, std::set<TaskId> sleeping) {
  return std::make_unique<ExploreStrategy>(std::move(beginning), std::move(sleeping));
}

}  // namespace isotope::check
