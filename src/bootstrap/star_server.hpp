// The middle of the star: serves all-gathers and abort notices to the PEs of one job over connected stream sockets.
//
// Two owners: the launcher (`isotope run`, socket pairs inherited by the PEs) and the TCP root (sockets that proved the
// job's key). It starts no thread and never blocks: the owner polls poll_fd() in its own loop and calls handle().
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bootstrap/bootstrap.hpp"
#include "os/fd.hpp"

namespace isotope::bootstrap {

class StarServer {
 public:
  explicit StarServer(int size);
  ~StarServer();
  StarServer(const StarServer&) = delete;
  StarServer& operator=(const StarServer&) = delete;

  /// Takes a connected socket that speaks for `rank`. At most one per rank.
  void attach(int rank, os::Fd socket);
  bool attached(int rank) const;

  /// An epoll descriptor: readable when handle() has work to do.
  int poll_fd() const;
  /// Reads what has come, answers complete all-gathers, passes notices on. Never blocks, never throws for what a peer
  /// sent: a peer that breaks the protocol is dropped and the job aborted with Code::refused.
  void handle();
  /// True when no PE waits in an all-gather and everything that was to be sent has reached the kernel.
  bool idle() const;
  /// Answers every PE that waits as if its deadline had come: the last act of an owner that goes away.
  void give_up();

  /// What a PE has told so far. Frames it sent before it died count.
  struct PeStatus {
    bool joined = false;  // has sent anything, i.e. called init()
    int open_worlds = 0;  // inits minus leaves: above 0 at its end means it did not leave in good order
    bool closed = false;  // its socket is at end of file
  };
  PeStatus status(int rank) const;

  /// The first notice of this job, from a PE or from end_job(), if any.
  std::optional<AbortNotice> notice() const;
  /// Records the notice (unless there is one already) and sends it to every PE that is still connected.
  void end_job(const AbortNotice& notice);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace isotope::bootstrap
