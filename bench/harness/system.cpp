#include "bench/harness/system.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include "isotope/base/error.hpp"

namespace isotope::bench {

namespace {

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error(Code::system, fmt::format("{}: {}", what, std::strerror(error)));
}

/// Output stays as it is when `output` is negative.
pid_t spawn(const std::vector<std::string>& argv, int output) {
  std::vector<std::string> copies = argv;
  std::vector<char*> pointers;
  for (std::string& copy : copies) pointers.push_back(copy.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output >= 0) {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, output, 2);
  }
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail(fmt::format("cannot start '{}'", argv[0]), error);
  return pid;
}

}  // namespace

std::string own_folder() { return std::filesystem::read_symlink("/proc/self/exe").parent_path().string(); }

std::optional<std::string> find_on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0 && !std::filesystem::is_directory(candidate)) return candidate;
  }
  return std::nullopt;
}

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

SharedFile::SharedFile() : descriptor_(memfd_create("isotope-bench", MFD_CLOEXEC)) {
  if (descriptor_ < 0) fail("memfd_create", errno);
  path_ = fmt::format("/proc/{}/fd/{}", getpid(), descriptor_);
}

SharedFile::~SharedFile() { close(descriptor_); }

std::string SharedFile::take() {
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = pread(descriptor_, buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  if (got < 0 || ftruncate(descriptor_, 0) != 0 || lseek(descriptor_, 0, SEEK_SET) != 0)
    fail("reading a result", errno);
  return text;
}

std::optional<int> run_foreign(const std::vector<std::string>& argv, const SharedFile& output,
                               std::chrono::seconds deadline) {
  const pid_t pid = spawn(argv, output.descriptor());
  const auto until = std::chrono::steady_clock::now() + deadline;
  int status = 0;
  for (bool asked = false;;) {
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) break;
    if (ended < 0 && errno != EINTR) fail("waitpid", errno);
    const auto now = std::chrono::steady_clock::now();
    if (now > until && !asked) {
      kill(pid, SIGTERM);  // mpirun then ends its ranks
      asked = true;
    }
    if (now > until + std::chrono::seconds(3)) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (std::chrono::steady_clock::now() > until) return std::nullopt;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void start_trivial_programs(int n) {
  static const std::vector<std::string> argv = {"/bin/true"};
  std::vector<pid_t> started;
  for (int i = 0; i < n; ++i) started.push_back(spawn(argv, -1));
  for (const pid_t pid : started) {
    while (waitpid(pid, nullptr, 0) < 0) {
      if (errno != EINTR) fail("waitpid", errno);
    }
  }
}

}  // namespace isotope::bench
