#include "check/source.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <map>
#include <vector>

#include "os/symbols.hpp"

namespace isotope::check {

namespace {

/// Whether the line is one of our headers, which are inlined into the user's code.
bool is_ours(const std::string& file) {
  for (const char* room :
       {"isotope/device/", "isotope/collective/", "isotope/platform/", "isotope/base/", "isotope/host/"}) {
    if (file.find(room) != std::string::npos) return true;
  }
  return false;
}

/// The name without parameters. Some of clang's names are newer than addr2line's decoder: those come as they are, a
/// length before each part.
std::string bare(const std::string& function) {
  if (function.rfind("_ZN", 0) != 0) return function.substr(0, function.find_first_of("<("));
  std::string name;
  for (std::size_t at = 3; at < function.size() && std::isdigit(static_cast<unsigned char>(function[at])) != 0;) {
    char* end = nullptr;
    const std::size_t length = std::strtoull(function.c_str() + at, &end, 10);
    at = static_cast<std::size_t>(end - function.c_str());
    name += (name.empty() ? "" : "::") + function.substr(at, length);
    at += length;
  }
  return name;
}

/// The innermost line of the user's, with the call of ours that it makes.
std::string text_of(const std::vector<os::SourceLine>& lines) {
  if (lines.empty()) return "an unknown line (compiled without -g?)";
  std::string call;
  for (const os::SourceLine& line : lines) {
    if (is_ours(line.file)) {
      const std::string name = bare(line.function);
      if (name.find("detail::") == std::string::npos && name.find("sim::") == std::string::npos) call = name;
      continue;
    }
    std::string text = fmt::format("{}:{}", line.file.substr(line.file.rfind('/') + 1), line.line);
    const std::size_t name = call.rfind(':');
    if (!call.empty()) text += fmt::format(", in {}", name == std::string::npos ? call : call.substr(name + 1));
    return text;
  }
  const os::SourceLine& last = lines.back();
  return fmt::format("{}:{}", last.file.substr(last.file.rfind('/') + 1), last.line);
}

}  // namespace

std::string with_source_lines(const std::string& report) {
  std::map<std::string, std::string> names;  // by the number as it stands in the report
  for (std::size_t at = report.find('\x01'); at != std::string::npos; at = report.find('\x01', at + 1))
    names[report.substr(at + 1, report.find('\x02', at) - at - 1)] = "";
  if (names.empty()) return report;
  std::vector<const void*> pcs;
  for (const auto& [number, name] : names)
    pcs.push_back(reinterpret_cast<const void*>(std::strtoull(number.c_str(), nullptr, 16)));
  const auto lines = os::find_source_lines(pcs);
  std::size_t i = 0;
  for (auto& [number, name] : names) name = text_of(lines[i++]);
  std::string text;
  for (std::size_t at = 0; at < report.size();) {
    if (report[at] != '\x01') {
      text += report[at++];
      continue;
    }
    const std::size_t end = report.find('\x02', at);
    text += names[report.substr(at + 1, end - at - 1)];
    at = end + 1;
  }
  return text;
}

}  // namespace isotope::check
