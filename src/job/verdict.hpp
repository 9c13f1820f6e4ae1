// Why a job ended, and the sentence and exit code that follow from it. Pure logic: no process is touched here.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "isotope/host/job.hpp"
#include "os/pidfd.hpp"

namespace isotope::job {

inline constexpr int kTimeoutCode = 124;  // as timeout(1) has it
inline constexpr int kSignalBase = 128;   // as shells have it

/// What the supervisor knows of one PE when it judges.
struct PeEnd {
  int rank = 0;
  int pid = 0;
  os::ProcessEnd how;
  int open_worlds = 0;  // above 0: it did not leave the job
};

/// Ended with a status other than 0, by a signal, or without leaving the job.
bool is_failure(const PeEnd& end);

/// 128 + signal, its status, or 1 for a PE that exited with 0 without leaving.
int exit_code_of(const PeEnd& end);

/// "PE 2 (pid 311) was killed by SIGSEGV (signal 11)". `subject` replaces "PE 2" where the process is more than one PE.
std::string describe(const PeEnd& end, const std::string& subject = {});

/// Which of the PEs that were found ended in one look failed first; `ends` is not empty and holds failures only. A PE
/// that was killed, or ended in silence, cannot be the consequence of another one's failure; one that exited with an
/// error can. `blamed` is the rank that a notice names, or -1.
const PeEnd& first_of(const std::vector<PeEnd>& ends, int blamed);

/// "PE 3" or "PEs 0-2, 5".
std::string name_pes(const std::vector<int>& sorted_ranks);

/// "30 s", "1.5 s", "2 min".
std::string name_duration(std::chrono::nanoseconds span);

/// What a notice from a PE says about the end of the job.
std::string describe(const bootstrap::AbortNotice& notice);

}  // namespace isotope::job
