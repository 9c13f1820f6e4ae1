// How many streams of this process a GPU has, and a word to the user where they are more than its hardware queues:
// streams that share one wait for each other, so a kernel may wait for one that is enqueued behind it. Counted are
// those of Worlds, wrapped ones and each PE's own for copies; of others nothing is known.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace isotope::runtime {

/// Of the PEs of one process. Thread-safe.
class StreamCount {
 public:
  /// One stream more, for as long as `owner` lives: a queue, or a PE's hold on its GPU, which has one for copies.
  /// Warns, the first time that GPU `device` has more than CUDA_DEVICE_MAX_CONNECTIONS allows queues.
  void add(const std::shared_ptr<const void>& owner, int device);

 private:
  struct Entry {
    int device;
    std::weak_ptr<const void> owner;
  };
  std::mutex mutex_;
  std::vector<Entry> all_;
  bool warned_ = false;
};

}  // namespace isotope::runtime
