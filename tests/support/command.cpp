#include "support/command.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace isotope::testing {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

bool no_process_left(nanoseconds limit) {
  const std::uint64_t until = now_ns() + static_cast<std::uint64_t>(limit.count());
  for (;;) {
    const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid > 0) continue;
    if (pid < 0 && errno == ECHILD) return true;
    if (now_ns() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::vector<int> descendants(int pid) {
  std::vector<std::pair<int, int>> parents;  // process, its parent
  if (DIR* proc = ::opendir("/proc")) {
    while (const dirent* entry = ::readdir(proc)) {
      if (!std::isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
      std::ifstream file(std::string("/proc/") + entry->d_name + "/stat");
      std::string line;
      if (!std::getline(file, line)) continue;
      const std::size_t name_end = line.rfind(')');  // the name may hold anything
      char state = 0;
      int parent = 0;
      if (name_end != std::string::npos && std::sscanf(line.c_str() + name_end + 1, " %c %d", &state, &parent) == 2)
        parents.emplace_back(std::atoi(entry->d_name), parent);
    }
    ::closedir(proc);
  }
  std::vector<int> found, open{pid};
  while (!open.empty()) {
    const int parent = open.back();
    open.pop_back();
    for (const auto& [child, its_parent] : parents) {
      if (its_parent != parent) continue;
      found.push_back(child);
      open.push_back(child);
    }
  }
  return found;
}

std::string isotope_binary() { return ISOTOPE_TEST_BIN_DIR "/isotope"; }
std::string test_program(const std::string& name) { return ISOTOPE_TEST_PROGRAM_DIR "/" + name; }

Command::Command(std::vector<std::string> argv, const std::vector<std::pair<std::string, std::string>>& env) {
  adopt_orphans();
  int ends[2][2];
  for (auto& pipe : ends)
    if (::pipe2(pipe, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  std::fflush(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    // What runs the tests may ignore some signals (nohup, a shell's background jobs); a user's terminal does not.
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) std::signal(number, SIG_DFL);
    ::dup2(ends[0][1], 1);
    ::dup2(ends[1][1], 2);
    for (const auto& [name, value] : env) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (std::string& argument : argv) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    std::perror(arguments[0]);
    std::_Exit(127);
  }
  for (int i = 0; i < 2; ++i) {
    ::close(ends[i][1]);
    pipes_[i] = ends[i][0];
    ::fcntl(pipes_[i], F_SETFL, O_NONBLOCK);
  }
}

Command::~Command() {
  if (!ended_) {
    for (int pid : descendants(pid_)) ::kill(pid, SIGKILL);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (int pipe : pipes_)
    if (pipe >= 0) ::close(pipe);
}

void Command::read_for(nanoseconds limit) {
  pollfd waits[2] = {{pipes_[0], POLLIN, 0}, {pipes_[1], POLLIN, 0}};
  if (pipes_[0] < 0 && pipes_[1] < 0) {
    std::this_thread::sleep_for(limit);
    return;
  }
  ::poll(waits, 2, static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(limit).count()));
  for (int i = 0; i < 2; ++i) {
    char buffer[4096];
    ssize_t got = 0;
    while (pipes_[i] >= 0 && (got = ::read(pipes_[i], buffer, sizeof buffer)) > 0)
      text_[i].append(buffer, static_cast<std::size_t>(got));
    if (pipes_[i] >= 0 && got == 0) {
      ::close(pipes_[i]);
      pipes_[i] = -1;
    }
  }
}

bool Command::await_output(const std::string& text, int times, nanoseconds limit) {
  const std::uint64_t until = now_ns() + static_cast<std::uint64_t>(limit.count());
  while (count_of(text_[0], text) < times) {
    if (now_ns() >= until || (pipes_[0] < 0 && pipes_[1] < 0)) return false;
    read_for(std::chrono::milliseconds(10));
  }
  output_ns_ = now_ns();
  return true;
}

int Command::wait(nanoseconds limit) {
  const std::uint64_t until = now_ns() + static_cast<std::uint64_t>(limit.count());
  while (!ended_) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      ended_ = true;
      ended_ns_ = now_ns();
      status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      read_for(nanoseconds(0));
      break;
    }
    if (now_ns() >= until) return -1;
    read_for(std::chrono::milliseconds(2));
  }
  return status_;
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

bool has_number(const std::string& text, std::uint64_t number) {
  const std::string digits = std::to_string(number);
  const auto digit_at = [&](std::size_t i) {
    return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0;
  };
  for (std::size_t at = text.find(digits); at != std::string::npos; at = text.find(digits, at + 1))
    if ((at == 0 || !digit_at(at - 1)) && !digit_at(at + digits.size())) return true;
  return false;
}

}  // namespace isotope::testing
