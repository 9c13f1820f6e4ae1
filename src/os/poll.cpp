#include "os/poll.hpp"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "os/error.hpp"

namespace isotope::os {

static_assert(kReadable == EPOLLIN && kWritable == EPOLLOUT && kReadable == POLLIN && kWritable == POLLOUT);

Epoll::Epoll() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!fd_) throw_errno("epoll_create1");
}

namespace {
void control(int set, int op, int fd, std::uint32_t what, std::uint64_t tag) {
  epoll_event event{};
  event.events = what;
  event.data.u64 = tag;
  if (::epoll_ctl(set, op, fd, &event) != 0) throw_errno("epoll_ctl");
}
}  // namespace

void Epoll::add(int fd, std::uint32_t what, std::uint64_t tag) { control(fd_.get(), EPOLL_CTL_ADD, fd, what, tag); }
void Epoll::modify(int fd, std::uint32_t what, std::uint64_t tag) { control(fd_.get(), EPOLL_CTL_MOD, fd, what, tag); }
void Epoll::remove(int fd) noexcept { ::epoll_ctl(fd_.get(), EPOLL_CTL_DEL, fd, nullptr); }

std::size_t Epoll::wait(std::span<Event> out, int timeout_ms) {
  std::array<epoll_event, 64> events;
  const int room = static_cast<int>(std::min(out.size(), events.size()));
  const int n = ::epoll_wait(fd_.get(), events.data(), room, timeout_ms);
  if (n < 0) {
    if (errno == EINTR) return 0;
    throw_errno("epoll_wait");
  }
  for (int i = 0; i < n; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    std::uint32_t what = event.events & (kReadable | kWritable);
    if (event.events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) what |= kReadable;
    out[static_cast<std::size_t>(i)] = {event.data.u64, what};
  }
  return static_cast<std::size_t>(n);
}

EventFd::EventFd() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!fd_) throw_errno("eventfd");
}

void EventFd::signal() noexcept {
  const std::uint64_t one = 1;
  // The only failure is a full counter, and then it is readable already.
  [[maybe_unused]] const ssize_t n = ::write(fd_.get(), &one, sizeof one);
}

void EventFd::clear() noexcept {
  std::uint64_t count;
  [[maybe_unused]] const ssize_t n = ::read(fd_.get(), &count, sizeof count);
}

TimerFd::TimerFd() : fd_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!fd_) throw_errno("timerfd_create");
}

void TimerFd::arm_at(std::uint64_t when_ns) {
  when_ns = std::max<std::uint64_t>(when_ns, 1);  // 0 would disarm
  itimerspec spec{};
  spec.it_value.tv_sec = static_cast<time_t>(std::min<std::uint64_t>(when_ns / 1'000'000'000, 1ull << 40));
  spec.it_value.tv_nsec = static_cast<long>(when_ns % 1'000'000'000);
  if (::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &spec, nullptr) != 0) throw_errno("timerfd_settime");
}

void TimerFd::disarm() {
  const itimerspec spec{};
  if (::timerfd_settime(fd_.get(), 0, &spec, nullptr) != 0) throw_errno("timerfd_settime");
}

void poll_fds(std::span<PollEntry> entries, int timeout_ms) {
  std::vector<pollfd> fds(entries.size());
  for (std::size_t i = 0; i < fds.size(); ++i) fds[i] = {entries[i].fd, static_cast<short>(entries[i].want), 0};
  const int n = ::poll(fds.data(), fds.size(), timeout_ms);
  if (n < 0 && errno != EINTR) throw_errno("poll");
  for (std::size_t i = 0; i < fds.size(); ++i) entries[i].ready = n > 0 && fds[i].revents != 0;
}

}  // namespace isotope::os
