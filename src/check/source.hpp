// File and line in place of the program counters of a report.
#pragma once

#include <string>

namespace isotope::check {

std::string with_source_lines(const std::string& report);

}  // namespace isotope::check
