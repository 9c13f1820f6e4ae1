// assert() in a checked program: a kernel's way to say what must hold. One that fails is a finding with its line.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "check/findings.hpp"
#include "check/older.hpp"
#include "check/scheduler.hpp"
#include "check/text.hpp"

extern "C" [[noreturn]] void __assert_fail(const char* expression, const char* file, unsigned line,
                                           const char*) noexcept {
  using namespace isotope::check;
  const std::string_view path(file);
  const std::string place = fmt::format("{}:{}", path.substr(path.rfind('/') + 1), line);
  if (const Task* task = Scheduler::current()) {
    std::string text = fmt::format("assertion failed: {}\n  {}\n    at {}", expression, who_text(*task), place);
    if (task->kind == TaskKind::kernel && task->last_pc != nullptr)
      text += fmt::format("\n  Its last access that others notice was at {}.", pc_text(task->last_pc));
    finish("failure", "assertion failed", text + older_seen_text());
  }
  std::fputs(fmt::format("{}: assertion failed: {}\n", place, expression).c_str(), stderr);
  std::abort();
}
