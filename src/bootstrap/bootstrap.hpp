// The contract of bootstrap: how the PEs of a job find each other before they share any memory.
//
// The runtime knows only this class. It uses it during init() for a handful of small all-gathers, then
// moves to shared memory; the object stays alive as long as the World, because closing it without leave()
// tells the others that this PE is gone.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isotope/base/error.hpp"

namespace isotope::bootstrap {

inline constexpr std::size_t kMaxAllgatherBytes = 64 * 1024;
inline constexpr std::size_t kMaxNoticeBytes = 1024;

/// Why the job ended, as one PE (or the launcher) tells it to the others.
struct AbortNotice {
  Code code = Code::aborted;
  int by = Error::kNobody;    // PE that says so; kNobody: the launcher
  int peer = Error::kNobody;  // who is to blame
  int exit_code = 0;          // for Code::exited
  std::string message;        // cut at kMaxNoticeBytes on the wire
};

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// What `isotope info` and error messages call it: "launcher", "torchrun", "unique id", ...
  virtual std::string name() const = 0;

  /// Collective. Every PE passes the same number of bytes (at most kMaxAllgatherBytes) and gets all of them,
  /// in rank order. Throws Error: timeout (at the bootstrap deadline, naming the missing ranks), peer_lost, mismatch
  /// (different byte counts, all named), or the code of an AbortNotice.
  virtual std::vector<std::byte> allgather(std::span<const std::byte> mine) = 0;

  /// Collective; returns when every PE has called it. An all-gather of one byte.
  void barrier();

  /// Not collective, callable from any thread, idempotent, never blocks, never throws: tells the others, as far as this
  /// bootstrap can reach them, that the job is over. They throw Error(notice.code, notice.message) from their calls.
  virtual void abort(const AbortNotice& notice) noexcept = 0;

  /// Not collective: this PE leaves in good order. Its end is no failure from here on.
  virtual void leave() noexcept = 0;

  /// A descriptor that becomes readable when drain_notice() has something to say, or -1 when there is none to watch.
  virtual int watch_fd() const { return -1; }
  /// Called by the death watch when watch_fd() is readable; never blocks. A notice from another PE or the launcher, or
  /// Code::launcher_lost when the launcher's end closed. Nothing when it was a false alarm. After a notice
  /// was returned watch_fd() is not polled again.
  virtual std::optional<AbortNotice> drain_notice() { return std::nullopt; }
};

}  // namespace isotope::bootstrap
