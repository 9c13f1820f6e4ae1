#include "bench/harness/peer.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace isotope::bench {

namespace {

constexpr std::chrono::seconds kDeadline{120};

std::string program_path(const ForeignPeer& peer) { return own_folder() + "/peers/" + peer.program; }

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n-");
  if (end == std::string::npos) return "it printed nothing";
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

/// The word behind `mark` in what the command prints; nothing when there is no such program or mark.
std::optional<std::string> version_after(const std::string& mark, const std::vector<std::string>& command) {
  if (!find_on_path(command.front())) return std::nullopt;
  SharedFile output;
  if (run_foreign(command, output, std::chrono::seconds(20)) != 0) return std::nullopt;
  const std::string text = output.take();
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = at + mark.size();
  return text.substr(begin, text.find_first_of(" \n", begin) - begin);
}

}  // namespace

std::optional<std::string> open_mpi_version() {
  // Other projects have an mpirun too, with other options.
  static const std::optional<std::string> version = version_after("(Open MPI) ", {"mpirun", "--version"});
  return version;
}

std::optional<std::string> ucx_version() {
  static const std::optional<std::string> version = [] {
    const auto found = version_after("# Version ", {"ucx_info", "-v"});
    return found ? found : version_after("# Library version: ", {"ucx_info", "-v"});  // since 1.15
  }();
  return version;
}

bool available(const ForeignPeer& peer) {
  if (!std::filesystem::exists(program_path(peer))) return false;
  if (peer.launcher.empty()) return ucx_version().has_value();
  return open_mpi_version() && find_on_path(peer.launcher);
}

std::vector<std::string> peer_command(const ForeignPeer& peer, int pes, int cpus, const std::string& program,
                                      const std::string& file) {
  if (peer.launcher.empty()) return {program, file};
  // --oversubscribe: more ranks than cores are refused without it. Root is refused too.
  std::vector<std::string> argv = {peer.launcher, "--oversubscribe", "--allow-run-as-root"};
  if (peer.pinned) argv.insert(argv.end(), {"--bind-to", pes <= cpus ? "core" : "none"});
  argv.insert(argv.end(), peer.launcher_options.begin(), peer.launcher_options.end());
  argv.insert(argv.end(), {"-n", std::to_string(pes), program, file});
  return argv;
}

std::optional<std::string> run_peer(const ForeignPeer& peer, int pes, const std::vector<std::string>& arguments,
                                    std::string& why) {
  SharedFile result, output;
  std::vector<std::string> argv = peer_command(peer, pes, usable_cpus(), program_path(peer), result.path());
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  argv.insert(argv.end(), peer.arguments.begin(), peer.arguments.end());
  const std::optional<int> status = run_foreign(argv, output, kDeadline);
  if (status == 0) return result.take();
  why = status ? fmt::format("ended with status {}: {}", *status, last_line(output.take()))
               : fmt::format("was not done after {} s", kDeadline.count());
  return std::nullopt;
}

}  // namespace isotope::bench
