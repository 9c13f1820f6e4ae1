// A timeline of one schedule: which kernel each thread was in and what it waited for, in steps of the scheduler.
//
// A name that ends in .svg is the picture of host/timeline.hpp, one lane per PE with what its first thread did; any
// other is JSON of Chrome's trace format, one row per thread, for chrome://tracing and ui.perfetto.dev.
#pragma once

#include <string>

namespace isotope::check {

struct Task;

/// The task begins something, and ends what it began last.
void timeline_begin(const Task& task, const std::string& name);
void timeline_end(const Task& task);
/// Writes what there is; what has not ended ends now. Throws Error(system).
void write_timeline(const std::string& path, const std::string& title);

}  // namespace isotope::check
