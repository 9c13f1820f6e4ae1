#include "check/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "check/scheduler.hpp"
#include "isotope/base/error.hpp"
#include "isotope/host/timeline.hpp"

namespace isotope::check {

namespace {

struct Span {
  TaskId task = 0;
  int pe = 0;
  std::string row, name;
  bool first = false;  // of its PE's threads: the one in the picture
  std::uint64_t begin = 0, end = 0;
  bool open = true;
};

std::vector<Span>& spans() {
  static std::vector<Span> all;
  return all;
}

constexpr std::uint64_t kStepNs = 1000;  // one step is drawn as a microsecond

void write_picture(const std::string& path, const std::string& title) {
  std::vector<TimelineSpan> lanes;
  for (const Span& one : spans()) {
    if (!one.first) continue;
    TimelineSpan lane;
    lane.pe = one.pe;
    lane.begin_ns = one.begin * kStepNs;
    lane.end_ns = one.end * kStepNs;
    std::snprintf(lane.name, sizeof lane.name, "%s", one.name.c_str());
    lanes.push_back(lane);
  }
  write_svg(lanes, path, title);
}

void write_trace(const std::string& path) {
  nlohmann::json events = nlohmann::json::array();
  std::map<TaskId, bool> named;
  for (const Span& one : spans()) {
    if (!std::exchange(named[one.task], true)) {
      events.push_back(
          {{"ph", "M"}, {"name", "thread_name"}, {"pid", one.pe}, {"tid", one.task}, {"args", {{"name", one.row}}}});
    }
    events.push_back({{"ph", "X"},
                      {"name", one.name},
                      {"pid", one.pe},
                      {"tid", one.task},
                      {"ts", one.begin},
                      {"dur", one.end - one.begin}});
  }
  std::ofstream file(path);
  file << nlohmann::json{{"traceEvents", events}}.dump(1) << '\n';
  if (!file.flush()) throw Error(Code::system, fmt::format("cannot write the timeline '{}'", path));
}

}  // namespace

void timeline_begin(const Task& task, const std::string& name) {
  const cpu::ThreadState& thread = task.thread;
  const bool kernel = task.kind == TaskKind::kernel;
  Span span;
  span.task = task.id;
  span.pe = task.pe;
  span.row = kernel ? fmt::format("block {} thread {}", thread.block_rank, thread.thread_rank) : std::string("host");
  span.name = name;
  span.first = thread.block_rank == 0 && thread.thread_rank == 0;
  span.begin = span.end = Scheduler::instance().steps();
  spans().push_back(span);
}

void timeline_end(const Task& task) {
  for (auto one = spans().rbegin(); one != spans().rend(); ++one) {
    if (!one->open || one->task != task.id) continue;
    one->open = false;
    one->end = std::max(Scheduler::instance().steps(), one->begin + 1);
    return;
  }
}

void write_timeline(const std::string& path, const std::string& title) {
  const std::uint64_t now = Scheduler::instance().steps() + 1;
  for (Span& one : spans()) {
    if (one.open) one.end = now;
    one.open = false;
  }
  constexpr const char* kPicture = ".svg";
  const bool picture = path.size() > 4 && path.compare(path.size() - 4, 4, kPicture) == 0;
  if (picture) {
    write_picture(path, title);
  } else {
    write_trace(path);
  }
}

}  // namespace isotope::check
