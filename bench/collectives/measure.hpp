// Measuring one of the collectives inside a job, on any platform.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/collectives/rig.hpp"
#include "bench/harness/job_bench.hpp"

namespace isotope::bench {

/// Collective: a row for each of `sizes` (in bytes, smallest first) and each algorithm of the request, its result
/// compared with what it must be before and after. A wrong one ends the job on all PEs, and a PE that has one says
/// which.
///
/// Where the rig drops laggards, an algorithm that falls behind at one size has no rows for larger ones, and
/// bench.extra()["notes"] says so: some take milliseconds a call for megabytes, and a turn is many calls.
void measure_collective(JobBench& bench, const CollectiveCase& one, const std::vector<std::uint64_t>& sizes, Rig& rig);

/// Whether an algorithm whose call takes so many seconds, where a copy of the result takes `copy` seconds, can be given
/// up for larger vectors. After a millisecond it is bytes that take the time, and not messages; what then has a
/// sixteenth of a copy's bandwidth does not win it back.
constexpr bool falls_behind(double call, double copy) { return call > 1e-3 && call > 16 * copy; }

}  // namespace isotope::bench
