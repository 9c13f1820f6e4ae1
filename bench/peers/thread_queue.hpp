// The peer of a kernel launch: a function handed to a worker thread through a queue, as most task libraries do it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace isotope::bench {

class ThreadQueue {
 public:
  ThreadQueue() : worker_([this] { work(); }) {}
  ~ThreadQueue() {
    submit({});
    worker_.join();
  }
  ThreadQueue(const ThreadQueue&) = delete;
  ThreadQueue& operator=(const ThreadQueue&) = delete;

  /// An empty function ends the worker.
  void submit(std::function<void()> task) {
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
      ++submitted_;
    }
    arrived_.notify_one();
  }

  /// Until everything submitted so far is done.
  void wait() {
    std::unique_lock lock(mutex_);
    const std::uint64_t until = submitted_;
    finished_.wait(lock, [&] { return done_ >= until; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      arrived_.wait(lock, [&] { return !tasks_.empty(); });
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      if (!task) return;
      lock.unlock();
      task();
      lock.lock();
      ++done_;
      if (tasks_.empty()) finished_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable arrived_, finished_;
  std::deque<std::function<void()>> tasks_;
  std::uint64_t submitted_ = 0, done_ = 0;
  std::thread worker_;  // last: it uses all of the above
};

}  // namespace isotope::bench
