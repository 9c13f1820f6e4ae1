#include "job/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "os/signals.hpp"

namespace isotope::job {

bool is_failure(const PeEnd& end) { return !end.how.exited || end.how.status != 0 || end.open_worlds > 0; }

int exit_code_of(const PeEnd& end) {
  if (!end.how.exited) return kSignalBase + end.how.signal;
  if (end.how.status != 0) return end.how.status;
  return end.open_worlds > 0 ? 1 : 0;
}

std::string describe(const PeEnd& end, const std::string& subject) {
  const std::string who =
      fmt::format("{} (pid {})", subject.empty() ? fmt::format("PE {}", end.rank) : subject, end.pid);
  if (!end.how.exited) {
    return fmt::format("{} was killed by {} (signal {})", who, os::signal_name(end.how.signal), end.how.signal);
  }
  const std::string exited = fmt::format("{} exited with status {}", who, end.how.status);
  if (end.how.status != 0 || end.open_worlds == 0) return exited;
  return exited + " without leaving the job (its World was never destroyed)";
}

const PeEnd& first_of(const std::vector<PeEnd>& ends, int blamed) {
  const auto weight = [&](const PeEnd& end) {
    if (end.rank == blamed) return 0;
    if (!end.how.exited) return 1;
    return end.how.status == 0 ? 2 : 3;
  };
  return *std::min_element(ends.begin(), ends.end(),
                           [&](const PeEnd& a, const PeEnd& b) { return weight(a) < weight(b); });
}

std::string name_pes(const std::vector<int>& sorted_ranks) {
  std::string list;
  for (std::size_t i = 0; i < sorted_ranks.size();) {
    std::size_t last = i;
    while (last + 1 < sorted_ranks.size() && sorted_ranks[last + 1] == sorted_ranks[last] + 1) ++last;
    if (!list.empty()) list += ", ";
    list += std::to_string(sorted_ranks[i]);
    if (last > i) list += (last == i + 1 ? ", " : "-") + std::to_string(sorted_ranks[last]);
    i = last + 1;
  }
  return (sorted_ranks.size() == 1 ? "PE " : "PEs ") + list;
}

std::string name_duration(std::chrono::nanoseconds span) {
  const double seconds = std::chrono::duration<double>(span).count();
  if (seconds >= 120) return fmt::format("{:g} min", seconds / 60);
  if (seconds >= 1) return fmt::format("{:g} s", seconds);
  return fmt::format("{:g} ms", seconds * 1e3);
}

std::string describe(const bootstrap::AbortNotice& notice) {
  if (notice.by < 0) return notice.message;  // the launcher's own words
  const std::string who = fmt::format("PE {}", notice.by);
  if (notice.code == Code::exited) return fmt::format("{} called global_exit({})", who, notice.exit_code);
  return fmt::format("{} ended the job ({}): {}", who, code_name(notice.code), notice.message);
}

}  // namespace isotope::job
