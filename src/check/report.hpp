// What `isotope check` prints at the end.
#pragma once

#include <string>
#include <vector>

#include "isotope/host/check.hpp"

namespace isotope::check {

/// Prints the steps and the advice that were asked for, and the finding with the command that plays it again, or that
/// there was none. Returns the exit status: 1 for a finding, whatever the advice; 2 for an order that is none of the
/// program's.
int print_result(const CheckOptions& options, const CheckResult& result, const std::vector<std::string>& argv);

}  // namespace isotope::check
