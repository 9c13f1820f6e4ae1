#include "bench/harness/launcher.hpp"

#include <chrono>

#include "bench/harness/system.hpp"

namespace isotope::bench {

namespace {

/// The word behind `mark` in what the command prints; nothing when there is no such program or mark.
std::optional<std::string> version_after(const std::string& mark, const std::vector<std::string>& command) {
  if (!find_on_path(command.front())) return std::nullopt;
  SharedFile output;
  if (run_foreign(command, output, std::chrono::seconds(20)) != 0) return std::nullopt;
  const std::string text = output.take();
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = text.find_first_not_of(' ', at + mark.size());
  return begin == std::string::npos ? std::nullopt
                                    : std::optional(text.substr(begin, text.find_first_of(" \n", begin) - begin));
}

struct Found {
  std::string program, version;
};

/// The first of the programs that says one of the marks. Two libraries may have an mpirun, with other options; where
/// both are installed, Debian gives each a name of its own.
std::optional<Found> look_for(const std::vector<std::string>& programs, const std::vector<std::string>& marks) {
  for (const std::string& program : programs) {
    for (const std::string& mark : marks) {
      if (const auto version = version_after(mark, {program, "--version"})) return Found{program, *version};
    }
  }
  return std::nullopt;
}

const std::optional<Found>& found(Launcher launcher) {
  static const std::optional<Found> open_mpi = look_for({"mpirun.openmpi", "mpirun"}, {"(Open MPI) ", "(OpenRTE) "});
  static const std::optional<Found> oshmem =
      open_mpi && find_on_path("oshrun") ? std::optional(Found{"oshrun", open_mpi->version}) : std::nullopt;
  static const std::optional<Found> mpich =
      look_for({"mpiexec.mpich", "mpiexec.hydra", "mpiexec"}, {"HYDRA build details:\n    Version:"});
  static const std::optional<Found> nothing;
  switch (launcher) {
    case Launcher::open_mpi:
      return open_mpi;
    case Launcher::oshmem:
      return oshmem;
    case Launcher::mpich:
      return mpich;
    case Launcher::none:
      break;
  }
  return nothing;
}

std::optional<std::string> ucx_version() {
  static const std::optional<std::string> version = [] {
    const auto old = version_after("# Version ", {"ucx_info", "-v"});
    return old ? old : version_after("# Library version: ", {"ucx_info", "-v"});  // since 1.15
  }();
  return version;
}

}  // namespace

std::optional<std::string> version_of(Launcher launcher) {
  if (launcher == Launcher::none) return ucx_version();
  const std::optional<Found>& it = found(launcher);
  return it ? std::optional(it->version) : std::nullopt;
}

std::optional<std::string> program_of(Launcher launcher) {
  const std::optional<Found>& it = found(launcher);
  return it ? std::optional(it->program) : std::nullopt;
}

std::vector<std::string> launch_options(Launcher launcher, int pes, int cpus, bool pinned,
                                        const std::vector<std::string>& more) {
  std::vector<std::string> options;
  const std::string bind = pes <= cpus ? "core" : "none";
  if (launcher == Launcher::mpich) {
    // It takes any number of ranks, and binds none unless told.
    if (pinned) options = {"-bind-to", bind};
  } else {
    // --oversubscribe: more ranks than cores are refused without it. Root is refused too.
    options = {"--oversubscribe", "--allow-run-as-root"};
    if (pinned) options.insert(options.end(), {"--bind-to", bind});
  }
  options.insert(options.end(), more.begin(), more.end());
  options.insert(options.end(), {"-n", std::to_string(pes)});
  return options;
}

}  // namespace isotope::bench
