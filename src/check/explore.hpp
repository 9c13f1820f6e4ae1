// Every order of the kernels' steps that may make a difference, one process each.
//
// Dynamic partial-order reduction (Flanagan and Godefroid, POPL 2005) with sleep sets: two steps that touch different
// words, or only read one, are tried in one order. Steps are the atomic accesses of kernel threads and the arrival of
// puts; plain accesses need none, since unordered ones are reported as races in any order. Where a load may see older
// values, each of them is tried. Host code runs as soon as it can and is not part of the search.
#pragma once

#include "check/advice.hpp"
#include "check/run.hpp"
#include "isotope/host/check.hpp"

namespace isotope::check {

CheckResult explore(const CheckOptions& options, const PeMain& pe_main, AdviceBook& advice);

}  // namespace isotope::check
