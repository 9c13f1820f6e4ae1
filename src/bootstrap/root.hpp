// The root of a rendezvous: a thread that lets PEs in at a Gate and serves them with a StarServer.
//
// The thread ends by itself: when every PE came and closed its socket again, or when nobody is connected for a while.
// It runs none of the program's signal handlers and owns all it uses, so a process may exit while it runs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "bootstrap/gate.hpp"
#include "bootstrap/star_server.hpp"
#include "os/poll.hpp"

namespace isotope::bootstrap {

class Root {
 public:
  struct Options {
    Gate::Options gate;
    int size = 0;  // 0: the first PE that proves itself says it
    /// How long the root stays with nobody connected: before the first PE came, and after.
    std::uint64_t patience_ns = 0;
    std::uint64_t linger_ns = 0;
    /// True: refuses late duplicates by name as long as the job lasts. False: frees the address once all PEs came.
    bool listen_until_end = false;
  };

  static std::shared_ptr<Root> start(os::Fd listener, Options options);

  /// For a PE that is done, whose process may exit and take the root with it. Waits until no PE needs the root, for at
  /// most a tenth of the bootstrap deadline; then those that still wait are told now what they wait for in vain.
  void finish() noexcept;
  /// Frees the address, for a next rendezvous there. Returns when it is free.
  void stop_listening() noexcept;

  Root(os::Fd listener, Options options);

 private:
  void run();
  void serve_until_over();
  bool over(std::uint64_t now_ns);
  bool anybody_connected() const;
  std::optional<std::string> admit(const Hello& hello, const std::string& who);
  void enter(const Hello& hello, os::Fd socket);
  /// Asks the thread for a round and waits until it has made one after which the star is idle. False at the limit.
  bool round(bool Root::* request, std::uint64_t limit_ns) noexcept;

  const Options options_;
  // The thread's own.
  std::optional<Gate> gate_;
  std::optional<StarServer> star_;
  int size_ = 0;
  int attached_ = 0;
  std::map<int, std::string> names_;  // who came, for messages
  std::uint64_t last_active_ns_ = 0;
  // Shared with finish() and stop_listening().
  os::EventFd wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t asked_ = 0;
  std::uint64_t answered_ = 0;
  bool close_asked_ = false;
  bool give_up_asked_ = false;
  bool finished_ = false;
};

}  // namespace isotope::bootstrap
