#include "check/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "check/scheduler.hpp"

namespace isotope::check {

std::string site_text(CallSite site) {
  const std::string_view file(site.file == nullptr ? "" : site.file);
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), site.line);
}

std::string pc_text(const void* pc) { return fmt::format("\x01{:x}\x02", reinterpret_cast<std::uintptr_t>(pc)); }

std::string order_text(Order order) {
  constexpr const char* kNames[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
  return kNames[static_cast<int>(order)];
}

std::string scope_text(Scope scope) {
  constexpr const char* kNames[] = {"thread", "block", "cluster", "device", "system"};
  return kNames[static_cast<int>(scope)];
}

std::string cmp_text(Cmp cmp) {
  constexpr const char* kNames[] = {"==", "!=", ">", ">=", "<", "<="};
  return kNames[static_cast<int>(cmp)];
}

std::string value_text(std::uint64_t value) {
  return value < 1'000'000 ? fmt::format("{}", value) : fmt::format("{:#x}", value);
}

std::string folded(const std::string& text, std::size_t hang) {
  constexpr std::size_t kColumns = 80;
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t next = hang != 0 ? hang : indent + 4;
    indent = std::max(indent, hang);
    while (line.size() > kColumns) {
      const std::size_t cut = line.rfind(' ', kColumns);
      if (cut == std::string::npos || cut <= indent) break;  // one long word
      out += line.substr(0, line.find_last_not_of(' ', cut) + 1) + '\n';
      line = std::string(next, ' ') + line.substr(cut + 1);
      indent = next;
    }
    out += line;
    if (end == text.size()) break;
    out += '\n';
    at = end + 1;
  }
  return out;
}

std::string kernel_name(const char* text) {
  if (text == nullptr) return "?";
  // "const char* isotope::detail::kernel_text() [with auto Kernel = shift]", clang: "[Kernel = &shift]".
  std::string_view name(text);
  const std::size_t mark = name.find("Kernel = ");
  if (mark == std::string_view::npos) return std::string(name);
  name = name.substr(mark + 9);
  while (!name.empty() && (name.front() == '&' || (name.front() == '(' && name.rfind("(anonymous", 0) != 0)))
    name.remove_prefix(1);
  std::string plain(name.substr(0, name.find_first_of("]);")));
  for (const std::string_view nobody : {"{anonymous}::", "(anonymous namespace)::"}) {
    if (plain.rfind(nobody, 0) == 0) plain.erase(0, nobody.size());
  }
  return plain;
}

namespace {

std::string text_of(const Incarnation& who) {
  switch (who.kind) {
    case TaskKind::host:
      return fmt::format("PE {}, host code", who.pe);
    case TaskKind::callback:
      return fmt::format("PE {}, a callback of a stream", who.pe);
    case TaskKind::delivery:
      return fmt::format("a non-blocking put on its way, of PE {}, block {}, thread {}", who.pe, who.block, who.thread);
    case TaskKind::kernel:
      break;
  }
  return fmt::format("PE {}, block {}, thread {} of kernel {}", who.pe, who.block, who.thread, kernel_name(who.kernel));
}

}  // namespace

std::string who_text(TaskId id, Epoch epoch) { return text_of(Scheduler::instance().who(id, epoch)); }
std::string who_text(const Task& task) { return who_text(task.id, task.epoch()); }

}  // namespace isotope::check
