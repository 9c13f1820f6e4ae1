// A PE's end of the star: one socket, shared by the Worlds of the process and by the threads that use them.
//
// One thread may sit in an all-gather while the death watch drains notices from the same socket. So whoever finds the
// socket readable pumps it: frames are sorted to the World they are for, and the thread that waits for one is
// woken through an event descriptor. The mutex is held only around calls that never block.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/connection.hpp"
#include "os/poll.hpp"

namespace isotope::bootstrap {

/// Throws the Error that a notice stands for.
[[noreturn]] void throw_notice(const AbortNotice& notice, int rank);

class Channel {
 public:
  struct Options {
    int rank = 0;
    int size = 1;
    /// What it means when the other end closes.
    AbortNotice when_closed;
    /// True for the launcher, whose end is the job's end. False for a root that is needed only while PEs gather.
    bool close_is_notice = false;
  };

  /// One World on this channel. Members are guarded by the channel's mutex, but for the descriptors.
  struct Slot {
    std::uint32_t world = 0;
    std::uint64_t sequence = 0;  // of the next all-gather
    bool waits = false;
    std::optional<Bytes> gathered;
    std::optional<Failure> failure;
    bool aborted = false;  // this World itself sent the notice
    os::EventFd answer_wake;
    os::EventFd notice_wake;
  };

  Channel(os::Fd socket, Decoder decoder, Options options);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int rank() const noexcept { return options_.rank; }
  int size() const noexcept { return options_.size; }
  int fd() const noexcept { return connection_.fd(); }
  /// The process forked since this was made; the socket belongs to the parent.
  bool forked() const noexcept;

  /// Opens the next World: tells the server that an init() begins.
  std::shared_ptr<Slot> join();
  /// Closes it in good order.
  void leave(Slot& slot) noexcept;
  /// Closes it without a word.
  void detach(Slot& slot) noexcept;
  /// Sends the notice, unless there is one, and wakes everybody in this process.
  void abort(Slot& slot, const AbortNotice& notice) noexcept;

  /// Sends this PE's part; throws what ended the job.
  void post(Slot& slot, ByteView mine, std::uint64_t budget_ns);
  /// The answer when it has come; throws the failure or what ended the job. Never blocks.
  std::optional<Bytes> poll_answer(Slot& slot);
  /// Gives up: the answer, if it still comes, is dropped.
  void forget(Slot& slot) noexcept;

  /// Reads what has come. The job's notice, unless this World sent it.
  std::optional<AbortNotice> poll_notice(Slot& slot) noexcept;
  bool closed() const;
  bool wants_write() const;
  /// Sends what is left, for at most `limit_ns`: the last words before a socket closes.
  void flush(std::uint64_t limit_ns) noexcept;

 private:
  void pump();
  void dispatch(Frame& frame);
  void set_notice(const AbortNotice& notice);
  void wake_all();

  const Options options_;
  const std::uint64_t generation_;
  mutable std::mutex mutex_;
  Connection connection_;
  std::map<std::uint32_t, std::shared_ptr<Slot>> slots_;
  std::uint32_t next_world_ = 0;
  std::optional<AbortNotice> notice_;
  bool closed_ = false;
};

}  // namespace isotope::bootstrap
