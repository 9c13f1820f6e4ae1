#include "runtime/death_watch.hpp"

#include <fmt/format.h>

#include "os/pidfd.hpp"
#include "os/process.hpp"
#include "runtime/end_process.hpp"
#include "runtime/log.hpp"

namespace isotope::runtime {

DeathWatch::DeathWatch(const Segment& segment, int writer, std::vector<PeerProcess> peers)
    : segment_(&segment), writer_(writer) {
  for (PeerProcess& peer : peers) {
    os::Fd pidfd;
    try {
      pidfd = os::open_pidfd(peer.pid);
    } catch (const Error&) {
      // Gone already.
    }
    // A process that ended is readable for as long as it is not reaped; if it was, the pid is nobody's or somebody
    // else's.
    if (!pidfd || os::process_start_time(peer.pid) != peer.start_time) {
      peer_ended(peer);
    } else {
      peers_.push_back({std::move(pidfd), std::move(peer)});
    }
  }
  thread_ = std::thread([this] { run(); });
}

DeathWatch::~DeathWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.wake();
  thread_.join();
}

void DeathWatch::add(int rank, bootstrap::Bootstrap* bootstrap) {
  {
    const std::lock_guard lock(mutex_);
    bootstraps_[rank] = bootstrap;
  }
  wake_.wake();
}

void DeathWatch::remove(int rank) {
  const std::lock_guard lock(mutex_);
  bootstraps_.erase(rank);
}

void DeathWatch::run() {
  while (true) {
    std::vector<int> fds{wake_.fd()};
    for (const Watched& peer : peers_) fds.push_back(peer.pidfd.get());
    const std::size_t first_bootstrap = fds.size();
    std::vector<int> ranks;
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      for (const auto& [rank, bootstrap] : bootstraps_) {
        fds.push_back(bootstrap->watch_fd());
        ranks.push_back(rank);
      }
    }
    const std::vector<bool> readable = os::wait_readable(fds, -1);
    if (readable[0]) wake_.drain();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (!readable[first_bootstrap + i]) continue;
      std::optional<bootstrap::AbortNotice> notice;
      {
        // Held while it drains: a PE that leaves takes its bootstrap away under the same lock.
        const std::lock_guard lock(mutex_);
        const auto entry = bootstraps_.find(ranks[i]);
        if (entry == bootstraps_.end()) continue;
        notice = entry->second->drain_notice();
        if (notice) bootstraps_.erase(entry);
      }
      if (notice) pass_on(*notice);
    }
    std::vector<Watched> alive;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (readable[1 + i]) {
        peer_ended(peers_[i].process);
      } else {
        alive.push_back(std::move(peers_[i]));
      }
    }
    peers_ = std::move(alive);
  }
}

void DeathWatch::peer_ended(const PeerProcess& process) {
  // A process ends after global_exit too; then it has said so, and we go the same way.
  if (const auto notice = segment_->aborted()) pass_on(*notice);
  for (const int rank : process.ranks) {
    const auto state = static_cast<PeState>(segment_->pe(rank).state.load(std::memory_order_acquire));
    if (state == PeState::left) continue;
    pass_on({Code::peer_lost, writer_, rank, 0,
             fmt::format("PE {} (process {}) ended without leaving the job", rank, process.pid)});
    return;
  }
}

void DeathWatch::pass_on(const bootstrap::AbortNotice& notice) {
  if (segment_->abort(writer_, notice)) log_debug(fmt::format("PE {}: {}", writer_, notice.message));
  if (notice.code != Code::exited) return;
  // Two PEs may have called global_exit at once: the code of the one that came first is the job's.
  const auto first = segment_->aborted();
  end_process(first && first->code == Code::exited ? first->exit_code : notice.exit_code);
}

}  // namespace isotope::runtime
