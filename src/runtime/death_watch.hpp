// The death watch: one thread per process and World that learns at once when a peer process ends or the launcher
// speaks.
//
// It polls a process descriptor for each peer process of the host, so there is no heartbeat, nothing to tune, and no
// mistake about reused pids. What it learns goes into the segment's abort word, which every wait looks at. The one
// thing it does beyond that is to end this process when a PE called global_exit.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "os/wait.hpp"
#include "runtime/segment.hpp"

namespace isotope::runtime {

/// A process of this host and the PEs in it.
struct PeerProcess {
  std::int32_t pid = 0;
  std::uint64_t start_time = 0;  // tells it from a later process with the same pid
  std::vector<int> ranks;
};

class DeathWatch {
 public:
  /// `writer` is a PE of this process: notices go out in its name.
  DeathWatch(const Segment& segment, int writer, std::vector<PeerProcess> peers);
  ~DeathWatch();

  /// Also listens to the bootstrap of PE `rank` of this process, until remove().
  void add(int rank, bootstrap::Bootstrap* bootstrap);
  void remove(int rank);

 private:
  struct Watched {
    os::Fd pidfd;
    PeerProcess process;
  };
  void run();
  void peer_ended(const PeerProcess& process);
  void pass_on(const bootstrap::AbortNotice& notice);

  const Segment* segment_;
  int writer_;
  std::vector<Watched> peers_;
  std::mutex mutex_;
  std::map<int, bootstrap::Bootstrap*> bootstraps_;
  bool stop_ = false;
  os::Wake wake_;
  std::thread thread_;
};

}  // namespace isotope::runtime
