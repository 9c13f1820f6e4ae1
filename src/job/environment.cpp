#include "job/environment.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "isotope/base/error.hpp"
#include "os/spawn.hpp"

namespace isotope::job {

namespace {

// A PE's place in the job. All of them are removed before ours are set: a launcher that runs inside a PE of another job
// must not pass that PE's place on.
constexpr std::array<const char*, 5> kPlace = {"ISOTOPE_RANK", "ISOTOPE_SIZE", "ISOTOPE_LOCAL_RANK",
                                               "ISOTOPE_CONTROL_FD", "ISOTOPE_THREADS"};

EnvironmentChange base_change(const JobOptions& options) {
  EnvironmentChange change;
  change.unset.assign(kPlace.begin(), kPlace.end());
  if (!options.platform.empty()) change.set.emplace_back("ISOTOPE_PLATFORM", options.platform);
  change.set.insert(change.set.end(), options.env.begin(), options.env.end());
  return change;
}

}  // namespace

void check_user_environment(const JobOptions& options) {
  for (const auto& [name, value] : options.env) {
    const auto refuse = [&](const std::string& why) {
      throw Error(Code::invalid_argument, "environment variable '" + name + "': " + why);
    };
    if (name.empty()) refuse("the name is empty; expected NAME=value, e.g. OMP_NUM_THREADS=1");
    if (name.find('=') != std::string::npos) refuse("a name cannot hold '='");
    if (name.find('\0') != std::string::npos || value.find('\0') != std::string::npos) refuse("it holds a zero byte");
    if (std::find(kPlace.begin(), kPlace.end(), std::string_view(name)) != kPlace.end()) {
      refuse("the launcher sets it for each PE; leave it out");
    }
  }
}

EnvironmentChange pe_environment(const JobOptions& options, int rank, int control_fd) {
  EnvironmentChange change = base_change(options);
  change.set.emplace_back("ISOTOPE_RANK", std::to_string(rank));
  change.set.emplace_back("ISOTOPE_SIZE", std::to_string(options.pes));
  change.set.emplace_back("ISOTOPE_LOCAL_RANK", std::to_string(rank));
  change.set.emplace_back("ISOTOPE_CONTROL_FD", std::to_string(control_fd));
  return change;
}

EnvironmentChange threads_environment(const JobOptions& options) {
  EnvironmentChange change = base_change(options);
  change.set.emplace_back("ISOTOPE_THREADS", std::to_string(options.pes));
  return change;
}

std::vector<std::string> changed_environment(char** environ, const EnvironmentChange& change) {
  const auto replaced = [&](std::string_view name) {
    return std::any_of(change.unset.begin(), change.unset.end(), [&](const auto& one) { return one == name; }) ||
           std::any_of(change.set.begin(), change.set.end(), [&](const auto& one) { return one.first == name; });
  };
  std::vector<std::string> result;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry(*at);
    if (!replaced(entry.substr(0, entry.find('=')))) result.emplace_back(entry);
  }
  for (std::size_t i = 0; i < change.set.size(); ++i) {
    const auto& [name, value] = change.set[i];
    const auto later = std::any_of(change.set.begin() + static_cast<std::ptrdiff_t>(i) + 1, change.set.end(),
                                   [&, n = std::string_view(name)](const auto& one) { return one.first == n; });
    if (!later) result.push_back(name + "=" + value);  // the last of several wins
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& one : strings) result.push_back(one.data());
  result.push_back(nullptr);
  return result;
}

void apply(const EnvironmentChange& change) {
  for (const auto& name : change.unset) os::unset_environment(name);
  for (const auto& [name, value] : change.set) os::set_environment(name, value);
}

}  // namespace isotope::job
