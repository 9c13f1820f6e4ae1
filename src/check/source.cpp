#include "check/source.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <vector>

#include "os/symbols.hpp"

namespace isotope::check {

namespace {

/// Whether the line is one of our headers, which are inlined into the user's code.
bool is_ours(const std::string& file) {
  for (const char* room : {"isotope/device/", "isotope/platform/", "isotope/base/", "isotope/host/"}) {
    if (file.find(room) != std::string::npos) return true;
  }
  return false;
}

std::string bare(const std::string& function) { return function.substr(0, function.find_first_of("<(")); }

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
