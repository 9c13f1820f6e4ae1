// The door of a rendezvous: accepts connections and lets through those that prove they belong to the job.
//
// Anybody can connect, so a connection that has proved nothing costs little and cannot hold anything up: its buffer is
// a few hundred bytes, it has a deadline, there is a cap on how many there are (the oldest makes room), and no call
// blocks. Poll-driven: the owner polls poll_fd() until next_deadline_ns() and calls handle().
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "bootstrap/handshake.hpp"
#include "os/fd.hpp"
#include "os/poll.hpp"

namespace isotope::bootstrap {

class Gate {
 public:
  struct Options {
    std::optional<Key> key;  // none: the listener is a unix socket, and the user at the other end must be ours
    JobId job{};
    std::uint64_t handshake_deadline_ns = 0;
    std::size_t max_pending = 1024;
  };
  /// The job's own check of a PE that has proved itself; `who` names it for people. A text refuses it.
  using Admit = std::function<std::optional<std::string>(const Hello& hello, const std::string& who)>;
  /// Takes the socket of a PE that was let in.
  using Enter = std::function<void(const Hello& hello, os::Fd socket)>;

  Gate(os::Fd listener, Options options, Admit admit, Enter enter);
  ~Gate();

  int poll_fd() const noexcept { return epoll_.fd(); }
  /// Never throws for what a stranger did.
  void handle();
  std::optional<std::uint64_t> next_deadline_ns() const;
  /// Nobody else comes in. Connections in the middle of a handshake go on.
  void stop_listening();
  bool listening() const noexcept { return static_cast<bool>(listener_); }
  std::size_t pending() const noexcept { return visitors_.size(); }

 private:
  struct Visitor;
  using At = std::list<std::unique_ptr<Visitor>>::iterator;

  void accept_some();
  void service(Visitor& visitor);
  void step(Visitor& visitor, const Frame& frame);
  bool say(Visitor& visitor, const Frame& frame);
  void refuse(Visitor& visitor, const Frame& why);
  void remove(Visitor& visitor);
  void warn_once(const std::string& source, const std::string& message);

  os::Fd listener_;
  Options options_;
  Admit admit_;
  Enter enter_;
  os::Epoll epoll_;
  std::list<std::unique_ptr<Visitor>> visitors_;  // oldest first
  std::set<std::string> warned_;                  // sources; capped
  std::uint64_t accept_again_ns_ = 0;             // while the process is out of descriptors
};

}  // namespace isotope::bootstrap
