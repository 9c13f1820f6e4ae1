#include "runtime/world_core.hpp"

#include <fmt/format.h>

#include "os/process.hpp"
#include "runtime/end_process.hpp"

namespace isotope::runtime {

WorldCore::~WorldCore() { leave(false); }

void WorldCore::check_usable(const char* call) const {
  if (gone_.load(std::memory_order_acquire)) {
    throw Error(Code::not_initialized, fmt::format("{}: the World is gone; call init() again for a new one", call),
                rank_);
  }
  if (is_forked_copy()) {
    throw Error(Code::forked,
                fmt::format("{}: this process was forked from PE {} after init(); only the parent is a PE. Fork before "
                            "init(), or exec another program",
                            call, rank_),
                rank_);
  }
}

bool WorldCore::is_forked_copy() const { return os::fork_generation() != fork_generation_; }

std::unique_lock<std::mutex> WorldCore::collective(const char* call) {
  check_usable(call);
  return std::unique_lock(collective_mutex_);
}

void WorldCore::abort(Code code, const std::string& message, int peer) noexcept {
  const bootstrap::AbortNotice notice{code, rank_, peer, 0, message};
  job_->segment().abort(rank_, notice);
  // The first cause is told on. What a PE does because of it, such as to unwind, is no news.
  const auto first = job_->segment().aborted();
  bootstrap_->abort(first ? *first : notice);
}

void WorldCore::global_exit(int exit_code) {
  const bootstrap::AbortNotice notice{Code::exited, rank_, rank_, exit_code,
                                      fmt::format("PE {} called global_exit({})", rank_, exit_code)};
  job_->segment().abort(rank_, notice);
  bootstrap_->abort(notice);
  // Another PE's global_exit may have come first: then its code is the job's.
  const auto first = job_->segment().aborted();
  end_process(first && first->code == Code::exited ? first->exit_code : exit_code);
}

void WorldCore::leave(bool unwinding) noexcept {
  if (gone_.exchange(true, std::memory_order_acq_rel)) return;
  if (job_ == nullptr || bootstrap_ == nullptr) return;  // init() itself failed: nobody has seen this PE
  if (unwinding) abort(Code::aborted, fmt::format("PE {} left the job: an exception unwound its World", rank_), rank_);
  std::vector<std::shared_ptr<exec::StreamQueue>> streams;
  {
    const std::lock_guard lock(mutex_);
    streams.swap(streams_);
    for (auto& spare : spare_) streams.push_back(std::move(spare));
    spare_.clear();
    wrapped_.clear();
  }
  for (const auto& stream : streams) stream->close();
  streams.clear();
  if (job_->watch() != nullptr) job_->watch()->remove(rank_);
  job_->segment().pe(rank_).state.store(static_cast<std::uint32_t>(PeState::left), std::memory_order_release);
  bootstrap_->leave();
}

}  // namespace isotope::runtime
