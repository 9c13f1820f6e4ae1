#include "check/explore.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "check/explore_strategy.hpp"

namespace isotope::check {

namespace {

/// A step of the order that was played last, and what else is to be tried there.
struct Node {
  std::vector<Candidate> candidates;
  TaskId chosen = 0;
  std::uint32_t older = 0;  // not 0: a load that sees the latest value or one of so many before it
  std::set<TaskId> done, to_try, sleeping;

  const Candidate& of(TaskId id) const {
    return *std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& one) { return one.id == id; });
  }
  bool can_run(TaskId id) const {
    return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& one) { return one.id == id; });
  }
  /// Who need not be tried right after the chosen step: it was tried here, and the step does not matter to it.
  std::set<TaskId> sleeping_after() const {
    if (older != 0) return sleeping;
    std::set<TaskId> after;
    for (const std::set<TaskId>* from : {&sleeping, &done}) {
      for (const TaskId id : *from) {
        if (id != chosen && can_run(id) && !dependent(of(id), of(chosen))) after.insert(id);
      }
    }
    return after;
  }
  /// Goes on to the next choice; false: everything was tried.
  bool advance() {
    if (older != 0) return chosen < older ? ++chosen, true : false;
    for (const TaskId id : to_try) {
      if (done.count(id) != 0 || sleeping.count(id) != 0) continue;
      chosen = id;
      done.insert(id);
      return true;
    }
    return false;
  }
};

/// Finds pairs of steps that could have come in the other order, and notes to try it.
void find_reversals(std::vector<Node>& order) {
  using Known = std::map<TaskId, std::size_t>;  // by task: its last step that is known to have come before, plus 1
  std::map<TaskId, Known> tasks;
  struct Word {
    std::vector<std::size_t> readers;  // since the last write
    std::size_t writer = 0;            // plus 1
    Known written, all;
  };
  std::map<std::uintptr_t, Word> words;
  const auto join = [](Known& into, const Known& from) {
    for (const auto& [id, step] : from) into[id] = std::max(into[id], step);
  };
  for (std::size_t j = 0; j < order.size(); ++j) {
    if (order[j].older != 0) continue;  // nobody else notices what a load has seen
    const TaskId task = order[j].chosen;
    const Candidate step = order[j].of(task);
    Known& known = tasks[task];
    Word& word = words[step.address];
    // The latest step that this one depends on and that nothing orders before it.
    std::size_t latest = 0;
    const auto consider = [&](std::size_t i_plus_1) {
      if (i_plus_1 == 0) return;
      const TaskId other = order[i_plus_1 - 1].chosen;
      const auto seen = known.find(other);
      if (other != task && (seen == known.end() || seen->second < i_plus_1)) latest = std::max(latest, i_plus_1);
    };
    consider(word.writer);
    if (step.writes) {
      for (const std::size_t reader : word.readers) consider(reader);
    }
    if (latest != 0) {
      Node& node = order[latest - 1];
      if (node.can_run(task)) {
        node.to_try.insert(task);
      } else {
        for (const Candidate& one : node.candidates) node.to_try.insert(one.id);
      }
    }
    join(known, step.writes ? word.all : word.written);
    known[task] = j + 1;
    if (step.writes) {
      word.writer = j + 1;
      word.readers.clear();
      word.written = known;
      word.all = known;
    } else {
      word.readers.push_back(j + 1);
      join(word.all, known);
    }
  }
}

}  // namespace

CheckResult explore(const CheckOptions& options, const PeMain& pe_main, AdviceBook& advice) {
  CheckResult result;
  std::vector<Node> order;
  while (result.schedules < options.schedules) {
    Choices beginning;
    for (const Node& node : order) beginning.push_back(node.chosen);
    const std::set<TaskId> sleeping = order.empty() ? std::set<TaskId>{} : order.back().sleeping_after();
    const RunResult run = play(options, [&] { return explore_strategy(beginning, sleeping); }, pe_main, true);
    ++result.schedules;
    result.steps += run.steps;
    advice.add(run.advice);
    const ExploredTrace trace = parse_trace(run.trace);
    if (run.found) {
      result.found = true;
      result.kind = run.kind;
      result.verdict = run.verdict;
      result.report = run.report;
      Choices found;
      for (const ExploredStep& step : trace.steps) found.push_back(step.chosen);
      result.order = order_text(found);
      return result;
    }
    for (std::size_t i = order.size(); i < trace.steps.size(); ++i) {
      Node node;
      node.candidates = trace.steps[i].candidates;
      node.chosen = trace.steps[i].chosen;
      node.older = trace.steps[i].older;
      if (!order.empty()) node.sleeping = order.back().sleeping_after();
      node.done = {node.chosen};
      node.to_try = {node.chosen};
      order.push_back(std::move(node));
    }
    find_reversals(order);
    // The deepest step where something is left to try.
    for (;; order.pop_back()) {
      if (order.empty()) {
        result.complete = true;
        return result;
      }
      if (order.back().advance()) break;
    }
  }
  return result;
}

}  // namespace isotope::check
