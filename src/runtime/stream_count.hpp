// How many streams of this process a GPU has, and a word to the user where they are more than its hardware queues:
// streams that share one wait for each other, so a kernel may wait for one that is enqueued behind it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "exec/exec.hpp"

namespace isotope::runtime {

/// Of the PEs of one process. Thread-safe.
class StreamCount {
 public:
  /// Warns, the first time that GPU `device` has more streams than CUDA_DEVICE_MAX_CONNECTIONS allows queues.
  void add(const std::shared_ptr<exec::StreamQueue>& queue, int device);

 private:
  struct Entry {
    int device;
    std::weak_ptr<exec::StreamQueue> queue;
  };
  std::mutex mutex_;
  std::vector<Entry> all_;
  bool warned_ = false;
};

}  // namespace isotope::runtime
