// The bootstrap of PEs that are threads of one process: the same Gather as the star's, behind a mutex.
#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "bootstrap/codec.hpp"
#include "bootstrap/gather.hpp"
#include "bootstrap/select.hpp"
#include "os/clock.hpp"
#include "os/poll.hpp"
#include "os/process.hpp"

namespace isotope::bootstrap {
namespace {

/// What the threads share.
struct Hub {
  Hub(int size, std::uint64_t deadline) : gather(size), seats(static_cast<std::size_t>(size)), deadline_ns(deadline) {}

  struct Seat {
    std::optional<Gather::Answer> answer;
    os::EventFd wake;  // readable when there is a notice from another PE
  };

  void deliver(std::vector<Gather::Answer> answers) {
    for (Gather::Answer& answer : answers) seats[static_cast<std::size_t>(answer.rank)].answer = std::move(answer);
    changed.notify_all();
  }
  void end(const AbortNotice& what) {
    if (notice) return;
    notice = what;
    for (std::size_t i = 0; i < seats.size(); ++i)
      if (static_cast<int>(i) != what.by) seats[i].wake.signal();
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  Gather gather;
  std::vector<Seat> seats;
  const std::uint64_t deadline_ns;
  std::optional<AbortNotice> notice;
};

class ThreadPe : public Bootstrap {
 public:
  ThreadPe(int rank, std::shared_ptr<Hub> hub)
      : rank_(rank), hub_(std::move(hub)), generation_(os::fork_generation()) {}

  ~ThreadPe() override {
    if (forked()) return;
    const std::lock_guard lock(hub_->mutex);
    if (left_ || hub_->gather.failed(rank_)) return;
    hub_->end(
        {Code::peer_lost, rank_, rank_, 0, fmt::format("PE {} dropped its World without leaving the job", rank_)});
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(hub_->seats.size()); }
  std::string name() const override { return "threads"; }

  std::vector<std::byte> allgather(std::span<const std::byte> mine) override {
    if (forked()) throw Error(Code::forked, "this process is a fork of a PE; only the parent may use its World", rank_);
    if (mine.size() > kMaxAllgatherBytes)
      throw Error(Code::invalid_argument,
                  fmt::format("an all-gather of {} bytes is above the cap of {}", mine.size(), kMaxAllgatherBytes),
                  rank_);
    const auto deadline = os::Deadline::after_ns(hub_->deadline_ns);
    std::unique_lock lock(hub_->mutex);
    Hub::Seat& seat = hub_->seats[static_cast<std::size_t>(rank_)];
    const auto throw_notice = [&] {
      throw Error(hub_->notice->code, hub_->notice->message, rank_, hub_->notice->peer);
    };
    if (hub_->notice) throw_notice();
    hub_->deliver(hub_->gather.post(rank_, mine, os::now_ns() + hub_->deadline_ns));
    while (!seat.answer && !hub_->notice) {
      const std::uint64_t gone = deadline.elapsed_ns();
      if (gone >= deadline.span_ns())
        hub_->deliver(hub_->gather.expire(os::now_ns()));
      else
        hub_->changed.wait_for(lock, std::chrono::nanoseconds(deadline.span_ns() - gone));
    }
    if (!seat.answer) throw_notice();
    const Gather::Answer answer = std::move(*seat.answer);
    seat.answer.reset();
    if (answer.all) return *answer.all;
    if (answer.refusal.code == Code::timeout)
      throw Error(Code::timeout,
                  fmt::format("PE {} gave up after {:.1f} s in bootstrap (threads): {}", rank_,
                              static_cast<double>(deadline.elapsed_ns()) * 1e-9, answer.refusal.message),
                  rank_, answer.refusal.peer);
    throw Error(answer.refusal.code, answer.refusal.message, rank_, answer.refusal.peer);
  }

  void abort(const AbortNotice& notice) noexcept override {
    if (forked()) return;
    AbortNotice mine = notice;
    mine.by = rank_;
    const std::lock_guard lock(hub_->mutex);
    hub_->end(mine);
  }

  void leave() noexcept override {
    if (forked()) return;
    const std::lock_guard lock(hub_->mutex);
    if (left_) return;
    left_ = true;
    hub_->deliver(hub_->gather.leave(rank_));
  }

  int watch_fd() const override { return hub_->seats[static_cast<std::size_t>(rank_)].wake.fd(); }
  std::optional<AbortNotice> drain_notice() override {
    if (forked()) return std::nullopt;
    const std::lock_guard lock(hub_->mutex);
    if (hub_->notice && hub_->notice->by == rank_) return std::nullopt;
    return hub_->notice;
  }

 private:
  bool forked() const noexcept { return os::fork_generation() != generation_; }

  const int rank_;
  const std::shared_ptr<Hub> hub_;
  const std::uint64_t generation_;
  bool left_ = false;  // guarded by the hub's mutex
};

}  // namespace

std::vector<std::unique_ptr<Bootstrap>> for_threads(int n, const runtime::Knobs& knobs) {
  if (n < 1 || n > kMaxPes)
    throw Error(Code::invalid_argument, fmt::format("{} PEs as threads: there are 1 to {}", n, kMaxPes));
  const auto hub = std::make_shared<Hub>(n, knobs.bootstrap_deadline_ns);
  std::vector<std::unique_ptr<Bootstrap>> all;
  for (int rank = 0; rank < n; ++rank) all.push_back(std::make_unique<ThreadPe>(rank, hub));
  return all;
}

}  // namespace isotope::bootstrap
