#include "bench/harness/peer.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "bench/harness/system.hpp"

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

}  // namespace

bool available(const ForeignPeer& peer) {
  return std::filesystem::exists(program_path(peer)) && version_of(peer.launcher);
}

std::optional<std::string> run_peer(const ForeignPeer& peer, int pes, const std::vector<std::string>& before,
                                    bool quick, std::string& why) {
  SharedFile result, output;
  std::vector<std::string> argv;
  const auto add = [&](const std::vector<std::string>& words) { argv.insert(argv.end(), words.begin(), words.end()); };
  if (const auto launcher = program_of(peer.launcher)) {
    add({*launcher});
    add(launch_options(peer.launcher, pes, usable_cpus(), peer.pinned, peer.launcher_options));
  }
  add({program_path(peer), result.path()});
  add(before);
  add(peer.arguments);
  if (quick) add({"quick"});
  const std::optional<int> status = run_foreign(argv, output, kDeadline);
  if (status == 0) return result.take();
  why = status ? fmt::format("ended with status {}: {}", *status, last_line(output.take()))
               : fmt::format("was not done after {} s", kDeadline.count());
  return std::nullopt;
}

}  // namespace isotope::bench
