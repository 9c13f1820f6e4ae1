// What the tests of bootstrap share: a star served by a thread, PEs as threads or forked processes, and a stopwatch.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/channel.hpp"
#include "bootstrap/select.hpp"
#include "bootstrap/star_client.hpp"
#include "bootstrap/star_server.hpp"
#include "os/clock.hpp"
#include "os/poll.hpp"
#include "os/socket.hpp"

namespace isotope::bootstrap::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;  // memory use says nothing then
#else
inline constexpr bool kSanitized = false;
#endif  // sanitizers
inline constexpr std::uint64_t kMs = 1'000'000;
inline constexpr std::uint64_t kSecond = 1000 * kMs;

inline runtime::Knobs make_knobs(std::uint64_t bootstrap_deadline_ns = 20 * kSecond) {
  runtime::Knobs knobs;
  knobs.bootstrap = "auto";
  knobs.listen = "127.0.0.1";
  knobs.bootstrap_deadline_ns = bootstrap_deadline_ns;
  knobs.handshake_deadline_ns = 5 * kSecond;
  return knobs;
}

inline double seconds_since(std::uint64_t start_ns) { return static_cast<double>(os::now_ns() - start_ns) * 1e-9; }

/// Seconds in which what needs no waiting is over on a machine that is busy with other things too: less than the
/// shortest of the deadlines above.
inline constexpr double kSoon = 4;

/// The promise is the deadline +- 10 %; what is allowed above it is for a machine that is busy.
inline bool at_deadline(std::uint64_t start_ns, std::uint64_t deadline_ns) {
  const double took = seconds_since(start_ns), want = static_cast<double>(deadline_ns) * 1e-9;
  if (took > 0.9 * want && took < std::max(1.2 * want, want + 0.5)) return true;
  ::fprintf(stderr, "took %.3f s, want %.3f s\n", took, want);
  return false;
}

inline Bytes bytes_of(const std::string& text) {
  const ByteView view = as_bytes(text);
  return {view.begin(), view.end()};
}
inline std::string text_of(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Runs `body` and returns the Error it throws; fails when it throws none.
inline Error error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no Error was thrown";
  return Error(Code::ok, "");
}

/// The launcher's part: a StarServer and a thread that polls it.
class Star {
 public:
  explicit Star(int size) : server_(size) {
    for (int rank = 0; rank < size; ++rank) {
      auto [mine, theirs] = os::stream_pair();
      server_.attach(rank, std::move(mine));
      ends_.push_back(std::move(theirs));
    }
  }
  ~Star() { stop(); }

  /// Only now a thread exists, so that tests can fork before.
  void start() {
    thread_ = std::thread([this] {
      while (!stop_) {
        std::array<os::PollEntry, 2> entries{
            {{server_.poll_fd(), os::kReadable, false}, {wake_.fd(), os::kReadable, false}}};
        os::poll_fds(entries, 10'000);
        const std::lock_guard lock(mutex_);
        server_.handle();
      }
    });
  }
  void stop() {
    if (!thread_.joinable()) return;
    stop_ = true;
    wake_.signal();
    thread_.join();
  }
  /// The server, while its thread keeps its hands off.
  template <class F>
  auto with(F body) {
    const std::lock_guard lock(mutex_);
    return body(server_);
  }
  os::Fd take_end(int rank) { return std::move(ends_[static_cast<std::size_t>(rank)]); }
  void close_ends() { ends_.clear(); }

 private:
  StarServer server_;
  std::vector<os::Fd> ends_;
  std::mutex mutex_;
  std::atomic<bool> stop_ = false;
  os::EventFd wake_;
  std::thread thread_;
};

inline std::shared_ptr<Channel> channel_over(os::Fd socket, int rank, int size, bool launcher = true) {
  Channel::Options options;
  options.rank = rank;
  options.size = size;
  options.when_closed = {Code::launcher_lost, Error::kNobody, Error::kNobody, 0, "the launcher of this job is gone"};
  options.close_is_notice = launcher;
  return std::make_shared<Channel>(std::move(socket), Decoder(Caps::star_client(size)), options);
}

inline std::unique_ptr<StarClient> client_over(std::shared_ptr<Channel> channel,
                                               std::uint64_t deadline_ns = 20 * kSecond) {
  return std::make_unique<StarClient>("test", std::move(channel), os::Deadline::after_ns(deadline_ns));
}

/// Calls body(rank) on a thread per rank and waits for all.
inline void on_threads(int n, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  for (std::thread& thread : threads) thread.join();
}

/// Forks a process per rank that calls body(rank) and exits with its value. Returns the wait statuses.
inline std::vector<int> on_processes(int n, const std::function<int(int)>& body,
                                     const std::function<void(const std::vector<pid_t>&)>& meanwhile = {}) {
  std::vector<pid_t> pids;
  ::fflush(nullptr);  // or every child prints it again
  for (int rank = 0; rank < n; ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(60);  // whatever happens, it ends
      int status = 99;
      try {
        status = body(rank);
      } catch (const std::exception& error) {
        ::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      }
      ::fflush(nullptr);
      ::_exit(status);
    }
    pids.push_back(pid);
  }
  if (meanwhile) meanwhile(pids);
  std::vector<int> statuses;
  for (const pid_t pid : pids) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    statuses.push_back(status);
  }
  return statuses;
}

/// All ranks bring "<rank>:<round>;" and check what comes back.
inline bool gather_rounds(Bootstrap& boot, int rounds, std::size_t padding = 0) {
  for (int round = 0; round < rounds; ++round) {
    const auto part = [&](int rank) {
      return std::to_string(rank) + ":" + std::to_string(round) + ";" +
             std::string(padding, static_cast<char>('a' + rank % 26));
    };
    std::string want;
    for (int rank = 0; rank < boot.size(); ++rank) want += part(rank);
    if (text_of(boot.allgather(bytes_of(part(boot.rank())))) != want) return false;
  }
  return true;
}

inline os::Fd connect_to(const os::SocketAddress& address) {
  int err = 0;
  os::Fd fd = os::tcp_connect(address, err);
  if (fd) {
    std::array<os::PollEntry, 1> entry{{{fd.get(), os::kWritable, false}}};
    os::poll_fds(entry, 5000);
  }
  return fd;
}

/// Reads until the other end closes or `seconds` passed; true when it closed.
inline bool closes_within(int fd, double seconds) {
  const std::uint64_t start = os::now_ns();
  while (seconds_since(start) < seconds) {
    std::array<os::PollEntry, 1> entry{{{fd, os::kReadable, false}}};
    os::poll_fds(entry, 50);
    std::array<std::byte, 512> piece;
    const os::Io io = os::recv_some(fd, piece);
    if (io.status == os::Io::Status::closed) return true;
  }
  return false;
}

}  // namespace isotope::bootstrap::testing
