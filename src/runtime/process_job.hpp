// What the PEs of one process share of one World: its segment, the one address reservation with every PE's slot in it,
// and the death watch.
//
// With PEs as processes each process has one PE and this is just a part of its World. With PEs as threads it must be
// shared: a heap is mapped once per process, since two addresses for one byte would need alias fences on a GPU.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "os/memory.hpp"
#include "runtime/death_watch.hpp"
#include "runtime/layout.hpp"
#include "runtime/segment.hpp"

namespace isotope::runtime {

using JobId = std::array<std::uint64_t, 2>;

/// Where a PE's shared files are found.
struct PeFiles {
  std::int32_t pid = 0;
  std::uint64_t start_time = 0;
  std::int32_t heap_fd = -1;
};

class ProcessJob {
 public:
  /// The one object of this process for that World. The first PE of the process to ask makes it; the others get the
  /// same.
  static std::shared_ptr<ProcessJob> get(const JobId& id, const std::function<std::shared_ptr<ProcessJob>()>& make);

  /// Maps the segment and every PE's slot, and starts the death watch if there is anything to watch.
  ProcessJob(Segment segment, const Layout& layout, const std::vector<PeFiles>& files, int my_rank,
             bool watch_bootstrap);

  int size() const { return size_; }
  bool has_other_processes() const { return other_processes_; }
  const Segment& segment() const { return segment_; }
  const Layout& layout() const { return layout_; }
  std::byte* slot(int rank) const {
    return reservation_.base() + static_cast<std::uint64_t>(rank) * layout_.slot_bytes();
  }
  /// Rank whose slot holds `address`, or kNoPe.
  int slot_of(const void* address) const;
  bool in_this_process(int rank) const { return in_this_process_[static_cast<std::size_t>(rank)]; }
  /// The PE of this process that maps windows for all of them.
  int lead_rank() const { return lead_rank_; }
  /// Maps the file as window memory of PE `rank`, `offset` into its window range. Called by the lead alone.
  void map_window(int rank, std::uint64_t offset, std::uint64_t bytes, int fd) const;
  void unmap_window(int rank, std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// What the PEs of this process have together on their GPUs. The first to ask makes it; it goes with the last.
  std::shared_ptr<void> gpu_share(const std::function<std::shared_ptr<void>()>& make);
  /// Null when there is neither a peer process nor a bootstrap to listen to.
  DeathWatch* watch() const { return watch_.get(); }

 private:
  Segment segment_;
  Layout layout_;
  os::Reservation reservation_;
  int size_ = 0;
  int lead_rank_ = 0;
  bool other_processes_ = false;
  std::vector<bool> in_this_process_;  // by rank
  std::mutex gpu_mutex_;
  std::weak_ptr<void> gpu_share_;
  std::unique_ptr<DeathWatch> watch_;  // last: it uses the segment
};

}  // namespace isotope::runtime
