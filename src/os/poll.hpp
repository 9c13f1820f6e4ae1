// Waiting for descriptors: epoll, an event counter, a timer, and poll(2) with EINTR taken care of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "os/fd.hpp"

namespace isotope::os {

inline constexpr std::uint32_t kReadable = 1;
inline constexpr std::uint32_t kWritable = 4;

/// A set of descriptors, level-triggered. Its own descriptor is readable when any of them is ready, so sets nest.
class Epoll {
 public:
  struct Event {
    std::uint64_t tag;
    std::uint32_t what;  // kReadable also for an error or an end of file: the next read tells which
  };

  Epoll();
  int fd() const noexcept { return fd_.get(); }
  void add(int fd, std::uint32_t what, std::uint64_t tag);
  void modify(int fd, std::uint32_t what, std::uint64_t tag);
  void remove(int fd) noexcept;
  /// Never throws for EINTR: returns 0 then.
  std::size_t wait(std::span<Event> out, int timeout_ms);

 private:
  Fd fd_;
};

/// Wakes a thread that polls: readable from signal() until clear().
class EventFd {
 public:
  EventFd();
  int fd() const noexcept { return fd_.get(); }
  void signal() noexcept;
  void clear() noexcept;

 private:
  Fd fd_;
};

/// Readable from a point in time (os::now_ns) on.
class TimerFd {
 public:
  TimerFd();
  int fd() const noexcept { return fd_.get(); }
  void arm_at(std::uint64_t when_ns);
  void disarm();

 private:
  Fd fd_;
};

struct PollEntry {
  int fd = -1;             // -1: ignored
  std::uint32_t want = 0;  // kReadable | kWritable
  bool ready = false;      // filled in; errors and hang-ups count as ready
};

/// Waits until one is ready or `timeout_ms` passed; EINTR ends the wait early with nothing ready.
void poll_fds(std::span<PollEntry> entries, int timeout_ms);

}  // namespace isotope::os
