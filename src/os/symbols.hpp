// Places in the source of program counters of this program, as binutils' addr2line tells them.
#pragma once

#include <string>
#include <vector>

namespace isotope::os {

struct SourceLine {
  std::string function, file;
  int line = 0;
};

/// For each program counter the functions it is in, inlined ones first. Empty where nothing is known: no debug
/// information, or no addr2line.
std::vector<std::vector<SourceLine>> find_source_lines(const std::vector<const void*>& pcs);

}  // namespace isotope::os
