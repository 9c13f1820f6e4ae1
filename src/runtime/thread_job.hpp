// PEs as threads: which job the calling thread belongs to, and the bootstraps of its successive Worlds.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "runtime/knobs.hpp"

namespace isotope::runtime {

class WorldCore;

class ThreadJob {
 public:
  explicit ThreadJob(int size) : size_(size), ended_(static_cast<std::size_t>(size), false) {}

  /// Runs `body` on the calling thread as PE `rank` of this job. Its end, however it comes, is no reason for the others
  /// to wait on; an exception ends their waits also where its World has left in good order before.
  void run_pe(int rank, const std::function<void()>& body);

  /// The bootstrap for the next init() of the calling thread, or null when it is no PE of a ThreadJob.
  static std::unique_ptr<bootstrap::Bootstrap> next_bootstrap(const Knobs& knobs);

  /// Notes a World that the calling thread has joined; nothing when it is no PE of a ThreadJob.
  static void add_world(const std::shared_ptr<WorldCore>& core);

 private:
  void fail(int rank) noexcept;
  std::unique_ptr<bootstrap::Bootstrap> take(int rank, std::size_t world, const Knobs& knobs);
  void end(int rank);

  const int size_;
  std::mutex mutex_;
  std::vector<bool> ended_;
  std::vector<std::weak_ptr<WorldCore>> cores_;
  // worlds_[k][rank]: the bootstrap of the k-th World, until that PE takes it.
  std::vector<std::vector<std::unique_ptr<bootstrap::Bootstrap>>> worlds_;
};

}  // namespace isotope::runtime
