// The Bootstrap of a PE that is connected to a StarServer: by the launcher's socket, by TCP, or by a unix socket. These
// differ only in how the channel was made.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/channel.hpp"
#include "os/clock.hpp"
#include "os/poll.hpp"

namespace isotope::bootstrap {

class StarClient : public Bootstrap {
 public:
  /// `begun` is when init() began: the first all-gather ends `deadline_ns` after that, so that the time spent
  /// connecting counts. Every later one has `deadline_ns` of its own. `at_end` is called last of all, when the
  /// World is over; it may not throw.
  StarClient(std::string name, std::shared_ptr<Channel> channel, os::Deadline begun, std::function<void()> at_end = {});
  ~StarClient() override;

  int rank() const override { return channel_->rank(); }
  int size() const override { return channel_->size(); }
  std::string name() const override { return name_; }
  std::vector<std::byte> allgather(std::span<const std::byte> mine) override;
  void abort(const AbortNotice& notice) noexcept override;
  void leave() noexcept override;
  int watch_fd() const override { return watch_.fd(); }
  std::optional<AbortNotice> drain_notice() override;

 private:
  std::vector<std::byte> await_answer(const os::Deadline& deadline);

  const std::string name_;
  const std::shared_ptr<Channel> channel_;
  const std::shared_ptr<Channel::Slot> slot_;
  const std::function<void()> at_end_;
  os::Epoll watch_;
  os::Deadline deadline_;  // of the first all-gather
  bool first_ = true;
  std::atomic<bool> left_ = false;
  std::atomic<bool> failed_ = false;  // an all-gather threw: the others know
};

}  // namespace isotope::bootstrap
