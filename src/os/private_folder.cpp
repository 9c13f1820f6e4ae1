#include "os/private_folder.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "os/error.hpp"
#include "os/process.hpp"

namespace isotope::os {

namespace {

constexpr std::size_t kMaxBase = 50;  // leaves half of a socket's name to the folder and what a helper puts in it

/// Nothing when it may not be read, or is gone. By hand: a process that ends between open and read makes read fail, and
/// then an ifstream's buffer throws.
std::optional<std::string> contents(const std::filesystem::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string all;
  char part[4096];
  for (;;) {
    const ssize_t got = ::read(file.get(), part, sizeof part);
    if (got == 0) return all;
    if (got > 0) all.append(part, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return std::nullopt;
  }
}

bool has_entry(const std::string& environment, std::string_view entry) {
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    if (std::string_view(environment).substr(at, end - at) == entry) return true;
    at = end + 1;
  }
  return false;
}

/// Ended, and perhaps not reaped.
bool is_dead(const std::filesystem::path& process) {
  const std::string stat = contents(process / "stat").value_or("");
  const std::size_t state = stat.rfind(") ");  // the name before it may hold anything
  return state == std::string::npos || stat[state + 2] == 'Z' || stat[state + 2] == 'X';
}

}  // namespace

std::string private_folder_name(std::string_view label) {
  const char* chosen = std::getenv("TMPDIR");
  std::string name = chosen != nullptr ? chosen : "";
  if (name.empty() || name[0] != '/' || name.size() > kMaxBase) name = "/tmp";
  name += "/" + std::string(label) + "-";
  std::array<unsigned char, 8> random{};
  random_bytes(random.data(), random.size());
  for (const unsigned char byte : random) {
    name += "0123456789abcdef"[byte >> 4];
    name += "0123456789abcdef"[byte & 15];
  }
  return name;
}

void make_private_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0) throw_errno("making the folder " + path);
}

Fd open_private_output(const std::string& path) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) throw_errno("opening " + path);
  return file;
}

std::size_t kill_processes(std::string_view name, std::string_view entry) {
  std::size_t found = 0;
  std::error_code gone;  // processes come and go while we look
  for (std::filesystem::directory_iterator at("/proc", gone), end; !gone && at != end; at.increment(gone)) {
    const std::string number = at->path().filename();
    if (!std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    const std::string comm = contents(at->path() / "comm").value_or("");
    if (comm.compare(0, std::min<std::size_t>(name.size(), 15), name.substr(0, 15)) != 0) continue;
    // The descriptor comes before the look at the environment: from then on the number cannot mean somebody else.
    const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, std::stoi(number), 0)));
    const auto environment = contents(at->path() / "environ");
    if (!process || !environment) continue;
    if (environment->empty()) {
      found += is_dead(at->path()) ? 0 : 1;  // inside exec, or it has none
    } else if (has_entry(*environment, entry)) {
      found += ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0 ? 1 : 0;
    }
  }
  return found;
}

}  // namespace isotope::os
