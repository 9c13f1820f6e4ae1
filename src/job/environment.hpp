// What a PE finds in its environment: the ISOTOPE_* variables of its place in the job, and what the user added.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "isotope/host/job.hpp"

namespace isotope::job {

/// Differences to the launcher's own environment.
struct EnvironmentChange {
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<std::string> unset;
};

/// Throws Error(invalid_argument): a name that is empty or has '=', or one that the launcher sets itself.
void check_user_environment(const JobOptions& options);

/// For a PE that is a process; `control_fd` is the number of its control socket.
EnvironmentChange pe_environment(const JobOptions& options, int rank, int control_fd);
/// For one process that runs all PEs as threads.
EnvironmentChange threads_environment(const JobOptions& options);

/// "NAME=value" for each variable of `environ` after the change.
std::vector<std::string> changed_environment(char** environ, const EnvironmentChange& change);
/// For execve: a pointer to each string, and a null at the end. The strings must stay where they are.
std::vector<char*> pointers(std::vector<std::string>& strings);
/// Changes this process's own environment.
void apply(const EnvironmentChange& change);

}  // namespace isotope::job
