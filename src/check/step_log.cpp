#include "check/step_log.hpp"

#include <fmt/format.h>

#include <cstring>

#include "check/memory.hpp"
#include "check/scheduler.hpp"
#include "check/source.hpp"
#include "check/text.hpp"

namespace isotope::check {

namespace {

constexpr std::size_t kMostLines = 200'000;
constexpr std::size_t kHang = 24;  // where the text of a line begins

struct Log {
  bool on = false;
  std::uint64_t first = 0, last = 0;
  std::size_t lines = 0, left_out = 0;
  std::string text;
};

Log& the_log() {
  static Log* log = new Log;
  return *log;
}

std::string place_text(std::uintptr_t address) {
  const Place place = memory().describe(address);
  if (place.object == nullptr || place.pe < 0) return place.text;
  return fmt::format("object {} + {} of PE {}", place.object->id, place.offset, place.pe);
}

bool is_host(const Task& task) { return task.kind == TaskKind::host || task.kind == TaskKind::callback; }

std::string who(const Task& task) {
  if (is_host(task)) return fmt::format("{:>3}      host", task.pe);
  return fmt::format("{:>3} {:>4} {:>4}", task.pe, task.thread.block_rank, task.thread.thread_rank);
}

}  // namespace

void log_steps(std::uint64_t first, std::uint64_t last) {
  the_log().on = true;
  the_log().first = first;
  the_log().last = last;
}

bool logging_steps() noexcept { return the_log().on; }

void log_event(const Task& task, const std::string& what, const void* pc) {
  Log& log = the_log();
  const std::uint64_t step = Scheduler::instance().steps();
  if (!log.on || step < log.first || step > log.last) return;
  if (log.lines == kMostLines) {
    ++log.left_out;
    return;
  }
  ++log.lines;
  log.text +=
      fmt::format("{:>7} {}   {}{}{}\n", step, who(task), task.kind == TaskKind::delivery ? "put on its way: " : "",
                  what, pc == nullptr ? std::string() : "  " + pc_text(pc));
}

void log_atomic(const Task& task, const std::string& what, const void* word, Order order, Scope scope, const void* pc) {
  if (!logging_steps()) return;
  // How the runtime of the PEs agrees among itself is nobody's business here.
  const Region* region = memory().shadow().find(reinterpret_cast<std::uintptr_t>(word));
  if (is_host(task) && region != nullptr && !region->holds_objects(reinterpret_cast<std::uintptr_t>(word))) return;
  log_event(task,
            fmt::format("{} {}, {} {}", what, place_text(reinterpret_cast<std::uintptr_t>(word)), order_text(order),
                        scope_text(scope)),
            pc);
}

void log_plain(const Task& task, std::uintptr_t address, std::size_t bytes, bool writes, const void* pc) {
  if (!logging_steps()) return;
  std::string value;
  if (!writes && bytes <= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes; ++i)  // memcpy as a call would be watched itself
      word |= static_cast<std::uint64_t>(reinterpret_cast<const unsigned char*>(address)[i]) << (8 * i);
    value = fmt::format(" ({})", value_text(word));
  }
  log_event(task,
            fmt::format("{} {} byte{}{} {} {}", writes ? "writes" : "reads", bytes, bytes == 1 ? "" : "s", value,
                        writes ? "to" : "of", place_text(address)),
            pc);
}

std::string step_log() {
  const Log& log = the_log();
  std::string text = log.text;
  if (log.left_out != 0) text += fmt::format("{} lines more; --steps=FROM:TO shows a part\n", log.left_out);
  return text;
}

std::string step_log_for_people(const std::string& log) {
  return "   step  PE  blk  thr   what\n" + folded(with_source_lines(log), kHang);
}

}  // namespace isotope::check
