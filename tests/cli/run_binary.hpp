// Runs bin/isotope as a user would and keeps what it printed.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace isotope::cli::test {

struct Outcome {
  int code = -1;  // 1000 + signal when it was killed
  std::string out, err;
  double seconds = 0;
};

/// A running `isotope`. wait() gives it 30 s, then kills it and fails the test.
class Binary {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  explicit Binary(std::vector<std::string> arguments, const Environment& environment = {}) {
    arguments.insert(arguments.begin(), ISOTOPE_TEST_BIN_DIR "/isotope");
    int out[2], err[2];
    EXPECT_EQ(::pipe(out), 0);
    EXPECT_EQ(::pipe(err), 0);
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(out[1], 1);
      ::dup2(err[1], 2);
      for (const int fd : {out[0], out[1], err[0], err[1]}) ::close(fd);
      for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
      std::vector<char*> argv;
      for (std::string& one : arguments) argv.push_back(one.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(99);
    }
    ::close(out[1]);
    ::close(err[1]);
    out_ = out[0];
    err_ = err[0];
  }
  ~Binary() {
    if (pid_ > 0) wait();
  }
  Binary(const Binary&) = delete;
  Binary& operator=(const Binary&) = delete;

  pid_t pid() const { return pid_; }

  /// Reads until standard output holds `lines` lines, or 20 s.
  void await_lines(long lines) {
    while (std::count(outcome_.out.begin(), outcome_.out.end(), '\n') < lines && seconds() < 20 && pump(100)) {
    }
  }

  Outcome wait() {
    while (seconds() < 30 && pump(100)) {
    }
    if (seconds() >= 30) {
      ADD_FAILURE() << "isotope did not end in 30 s";
      ::kill(pid_, SIGKILL);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    outcome_.seconds = seconds();
    outcome_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    pid_ = -1;
    for (const int fd : {out_, err_}) {
      if (fd >= 0) ::close(fd);
    }
    out_ = err_ = -1;
    return outcome_;
  }

 private:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  /// False when both streams are at their end.
  bool pump(int wait_ms) {
    pollfd fds[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
    if (out_ < 0 && err_ < 0) return false;
    if (::poll(fds, 2, wait_ms) <= 0) return true;
    take(fds[0].revents, out_, outcome_.out);
    take(fds[1].revents, err_, outcome_.err);
    return true;
  }
  static void take(short events, int& fd, std::string& to) {
    if (fd < 0 || events == 0) return;
    char buffer[65536];
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got > 0) {
      to.append(buffer, static_cast<std::size_t>(got));
    } else {
      ::close(fd);
      fd = -1;
    }
  }

  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;
  Outcome outcome_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

inline Outcome isotope(const std::vector<std::string>& arguments, const Binary::Environment& environment = {}) {
  return Binary(arguments, environment).wait();
}

/// The lines, sorted: PEs print in any order.
inline std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace isotope::cli::test
