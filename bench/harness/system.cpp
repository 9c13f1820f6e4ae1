#include "bench/harness/system.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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

constexpr int kCannotExecute = 127;

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error(Code::system, fmt::format("{}: {}", what, std::strerror(error)));
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& one : strings) pointers.push_back(one.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// A program that ends when this process does, whatever ends it. mpirun takes its ranks along.
pid_t start_foreign(const std::vector<std::string>& argv, int output) {
  std::vector<std::string> copies = argv;
  const std::vector<char*> pointers = pointers_to(copies);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) fail("fork", errno);
  if (pid > 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kCannotExecute);
  const int nothing = open("/dev/null", O_RDONLY);
  if (dup2(nothing, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0) _exit(kCannotExecute);
  execvp(pointers[0], pointers.data());
  _exit(kCannotExecute);
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

int usable_cpus() {
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) fail("sched_getaffinity", errno);
  return CPU_COUNT(&mine);
}

void pin_to_cpu(int index) {
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) fail("sched_getaffinity", errno);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mine) || index-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) fail("sched_setaffinity", errno);
    return;
  }
  throw Error(Code::invalid_argument, "pin_to_cpu: there is no CPU of that index");
}

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
  const pid_t pid = start_foreign(argv, output.descriptor());
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
  std::vector<std::string> argv = {"/bin/true"};
  const std::vector<char*> pointers = pointers_to(argv);
  std::vector<pid_t> started;
  for (int i = 0; i < n; ++i) {
    pid_t pid = 0;
    // Cheaper than fork() and exec() by hand: it does not copy the page tables.
    const int error = posix_spawn(&pid, pointers[0], nullptr, nullptr, pointers.data(), environ);
    if (error != 0) fail("cannot start /bin/true", error);
    started.push_back(pid);
  }
  for (const pid_t pid : started) {
    while (waitpid(pid, nullptr, 0) < 0) {
      if (errno != EINTR) fail("waitpid", errno);
    }
  }
}

}  // namespace isotope::bench
