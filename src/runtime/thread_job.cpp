#include "runtime/thread_job.hpp"

#include <fmt/format.h>

#include <string>

#include "bootstrap/select.hpp"
#include "runtime/world_core.hpp"

namespace isotope::runtime {

namespace {

/// The calling thread's place in a job.
struct Membership {
  ThreadJob* job = nullptr;
  int rank = 0;
  std::size_t worlds = 0;  // init() calls so far
};
thread_local Membership t_membership;

}  // namespace

void ThreadJob::run_pe(int rank, const std::function<void()>& body) {
  t_membership = {this, rank, 0};
  struct Ending {
    ThreadJob* job;
    int rank;
    ~Ending() {
      t_membership = {};
      job->end(rank);
    }
  } ending{this, rank};
  try {
    body();
  } catch (...) {
    fail(rank);
    throw;
  }
}

void ThreadJob::add_world(const std::shared_ptr<WorldCore>& core) {
  ThreadJob* job = t_membership.job;
  if (job == nullptr) return;
  const std::lock_guard lock(job->mutex_);
  std::erase_if(job->cores_, [](const auto& weak) { return weak.expired(); });
  job->cores_.push_back(core);
}

void ThreadJob::fail(int rank) noexcept {
  std::vector<std::weak_ptr<WorldCore>> cores;
  {
    const std::lock_guard lock(mutex_);
    cores = cores_;
  }
  const std::string message =
      fmt::format("PE {} failed: its part of the program threw, or returned a status that is not 0", rank);
  for (const auto& weak : cores) {
    if (const auto core = weak.lock()) core->abort(Code::aborted, message, rank);
  }
}

std::unique_ptr<bootstrap::Bootstrap> ThreadJob::next_bootstrap(const Knobs& knobs) {
  Membership& me = t_membership;
  if (me.job == nullptr) return nullptr;
  return me.job->take(me.rank, me.worlds++, knobs);
}

std::unique_ptr<bootstrap::Bootstrap> ThreadJob::take(int rank, std::size_t world, const Knobs& knobs) {
  const std::lock_guard lock(mutex_);
  while (worlds_.size() <= world) {
    worlds_.push_back(bootstrap::for_threads(size_, knobs));
    for (std::size_t pe = 0; pe < ended_.size(); ++pe) {
      if (ended_[pe]) worlds_.back()[pe].reset();
    }
  }
  return std::move(worlds_[world][static_cast<std::size_t>(rank)]);
}

void ThreadJob::end(int rank) {
  const std::lock_guard lock(mutex_);
  ended_[static_cast<std::size_t>(rank)] = true;
  // Dropped without leave(): whoever waits for this PE in an init() learns that it will not come.
  for (auto& world : worlds_) world[static_cast<std::size_t>(rank)].reset();
}

}  // namespace isotope::runtime
