#include "runtime/process_job.hpp"

#include <map>

#include "isotope/device/team.hpp"
#include "os/process.hpp"
#include "runtime/watcher.hpp"

namespace isotope::runtime {

std::shared_ptr<ProcessJob> ProcessJob::get(const JobId& id, const std::function<std::shared_ptr<ProcessJob>()>& make) {
  // The one piece of process-wide state of the runtime, and it owns nothing: PEs that are threads of one process have
  // no other way to find the mapping they must share.
  static std::mutex mutex;
  static std::map<JobId, std::weak_ptr<ProcessJob>> jobs;
  const std::lock_guard lock(mutex);
  std::erase_if(jobs, [](const auto& entry) { return entry.second.expired(); });
  if (auto job = jobs[id].lock()) return job;
  auto job = make();
  jobs[id] = job;
  return job;
}

ProcessJob::ProcessJob(Segment segment, const Layout& layout, const std::vector<PeFiles>& files, int my_rank,
                       bool watch_bootstrap)
    : segment_(std::move(segment)), layout_(layout), size_(static_cast<int>(files.size())), lead_rank_(my_rank) {
  reservation_ = os::Reservation(layout.slot_bytes() * files.size());
  watcher::slots(reservation_.base(), layout.slot_bytes(), layout.heap_offset(), size_);
  std::map<std::int32_t, PeerProcess> others;
  for (int rank = 0; rank < size_; ++rank) {
    const PeFiles& pe = files[static_cast<std::size_t>(rank)];
    const os::Fd file = os::open_descriptor_of(pe.pid, pe.heap_fd);
    reservation_.map(static_cast<std::uint64_t>(rank) * layout.slot_bytes(), layout.window_offset(), file.get());
    in_this_process_.push_back(pe.pid == os::process_id());
    if (in_this_process_.back()) {
      lead_rank_ = std::min(lead_rank_, rank);
    } else {
      PeerProcess& process = others[pe.pid];
      process.pid = pe.pid;
      process.start_time = pe.start_time;
      process.ranks.push_back(rank);
    }
  }
  other_processes_ = !others.empty();
  std::vector<PeerProcess> peers;
  for (auto& [pid, process] : others) peers.push_back(std::move(process));
  if (!peers.empty() || watch_bootstrap) watch_ = std::make_unique<DeathWatch>(segment_, my_rank, std::move(peers));
}

std::shared_ptr<void> ProcessJob::gpu_share(const std::function<std::shared_ptr<void>()>& make) {
  const std::lock_guard lock(gpu_mutex_);
  auto share = gpu_share_.lock();
  if (share == nullptr) gpu_share_ = share = make();
  return share;
}

int ProcessJob::slot_of(const void* address) const {
  const auto distance = static_cast<const std::byte*>(address) - reservation_.base();
  if (distance < 0 || static_cast<std::uint64_t>(distance) >= reservation_.bytes()) return kNoPe;
  return static_cast<int>(static_cast<std::uint64_t>(distance) / layout_.slot_bytes());
}

void ProcessJob::map_window(int rank, std::uint64_t offset, std::uint64_t bytes, int fd) const {
  reservation_.map(static_cast<std::uint64_t>(rank) * layout_.slot_bytes() + layout_.window_offset() + offset, bytes,
                   fd);
}

void ProcessJob::unmap_window(int rank, std::uint64_t offset, std::uint64_t bytes) const noexcept {
  reservation_.unmap(static_cast<std::uint64_t>(rank) * layout_.slot_bytes() + layout_.window_offset() + offset, bytes);
}

}  // namespace isotope::runtime
