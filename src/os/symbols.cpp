#include "os/symbols.hpp"

#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace isotope::os {

namespace {

/// What was added to the program's addresses when it was loaded.
std::uintptr_t load_offset() {
  std::uintptr_t offset = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<std::uintptr_t*>(out) = info->dlpi_addr;
        return 1;  // the first one is the program itself
      },
      &offset);
  return offset;
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::vector<std::vector<SourceLine>> find_source_lines(const std::vector<const void*>& pcs) {
  std::vector<std::vector<SourceLine>> found(pcs.size());
  char path[4096];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0 || pcs.empty()) return found;
  std::string command = "addr2line -a -f -C -i -e " + quoted(std::string(path, static_cast<std::size_t>(length)));
  const std::uintptr_t offset = load_offset();
  // A return address is that of the next instruction.
  for (const void* pc : pcs) command += fmt::format(" {:#x}", reinterpret_cast<std::uintptr_t>(pc) - offset - 1);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen((command + " 2>/dev/null").c_str(), "r"),
                                                             ::pclose);
  if (pipe == nullptr) return found;
  // For each: a line with the address, then pairs of lines, function and file:line.
  std::size_t at = 0;
  bool started = false;
  SourceLine line;
  bool have_function = false;
  char text[8192];
  while (std::fgets(text, sizeof text, pipe.get()) != nullptr) {
    std::string word(text);
    while (!word.empty() && word.back() == '\n') word.pop_back();
    if (word.rfind("0x", 0) == 0 && !have_function) {
      if (started) ++at;
      started = true;
      continue;
    }
    if (!have_function) {
      line.function = word;
      have_function = true;
      continue;
    }
    have_function = false;
    word = word.substr(0, word.find(" (discriminator"));
    const std::size_t colon = word.rfind(':');
    if (colon == std::string::npos || at >= found.size()) continue;
    line.file = word.substr(0, colon);
    line.line = std::atoi(word.c_str() + colon + 1);
    if (line.file != "??" && line.line > 0) found[at].push_back(line);
  }
  return found;
}

}  // namespace isotope::os
