// See channel.hpp.
#include "bootstrap/channel.hpp"

#include <fmt/format.h>

#include <array>

#include "os/clock.hpp"
#include "os/process.hpp"

namespace isotope::bootstrap {

void throw_notice(const AbortNotice& notice, int rank) { throw Error(notice.code, notice.message, rank, notice.peer); }

Channel::Channel(os::Fd socket, Decoder decoder, Options options)
    : options_(std::move(options)),
      generation_(os::fork_generation()),
      connection_(std::move(socket), std::move(decoder)) {}

bool Channel::forked() const noexcept { return os::fork_generation() != generation_; }

std::shared_ptr<Channel::Slot> Channel::join() {
  auto slot = std::make_shared<Slot>();
  const std::lock_guard lock(mutex_);
  slot->world = next_world_++;
  slots_.emplace(slot->world, slot);
  connection_.send(Join{slot->world});
  return slot;
}

void Channel::leave(Slot& slot) noexcept {
  const std::lock_guard lock(mutex_);
  if (slots_.erase(slot.world) != 0) connection_.send(Leave{slot.world});
}

void Channel::detach(Slot& slot) noexcept {
  const std::lock_guard lock(mutex_);
  slots_.erase(slot.world);
}

void Channel::abort(Slot& slot, const AbortNotice& notice) noexcept {
  const std::lock_guard lock(mutex_);
  if (notice_) return;
  slot.aborted = true;
  connection_.send(notice);
  set_notice(notice);
}

void Channel::post(Slot& slot, ByteView mine, std::uint64_t budget_ns) {
  const std::lock_guard lock(mutex_);
  if (notice_) throw_notice(*notice_, rank());
  if (closed_) throw_notice(options_.when_closed, rank());
  if (slot.waits)
    throw Error(Code::invalid_argument, "two threads of one PE are in a collective of the same World; take turns",
                rank());
  slot.gathered.reset();
  slot.failure.reset();
  slot.answer_wake.clear();
  slot.waits = true;
  connection_.send(Allgather{slot.world, slot.sequence, budget_ns, Bytes(mine.begin(), mine.end())});
}

std::optional<Bytes> Channel::poll_answer(Slot& slot) {
  const std::lock_guard lock(mutex_);
  pump();
  if (!slot.gathered && !slot.failure && !notice_ && !closed_) return std::nullopt;
  slot.waits = false;
  ++slot.sequence;
  if (slot.gathered) return std::exchange(slot.gathered, std::nullopt);
  if (slot.failure) throw Error(slot.failure->code, slot.failure->message, rank(), slot.failure->peer);
  throw_notice(notice_ ? *notice_ : options_.when_closed, rank());
}

void Channel::forget(Slot& slot) noexcept {
  const std::lock_guard lock(mutex_);
  slot.waits = false;
  ++slot.sequence;
}

std::optional<AbortNotice> Channel::poll_notice(Slot& slot) noexcept {
  const std::lock_guard lock(mutex_);
  pump();
  if (!notice_ || slot.aborted) return std::nullopt;
  return notice_;
}

bool Channel::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

bool Channel::wants_write() const {
  const std::lock_guard lock(mutex_);
  return connection_.wants_write();
}

void Channel::flush(std::uint64_t limit_ns) noexcept {
  const os::Deadline deadline = os::Deadline::after_ns(limit_ns);
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      connection_.flush();
      if (!connection_.wants_write()) return;
    }
    if (deadline.passed()) return;
    std::array<os::PollEntry, 1> entry{{{fd(), os::kWritable, false}}};
    os::poll_fds(entry, deadline.poll_timeout_ms());
  }
}

void Channel::pump() {
  if (closed_) return;
  connection_.flush();
  std::vector<Frame> frames;
  connection_.receive(frames);
  for (Frame& frame : frames) dispatch(frame);
  if (connection_.error()) {
    set_notice({Code::refused, Error::kNobody, options_.when_closed.peer, 0, connection_.error()->message});
    closed_ = true;
    wake_all();
  } else if (connection_.closed()) {
    closed_ = true;
    if (options_.close_is_notice) set_notice(options_.when_closed);
    wake_all();
  }
}

void Channel::dispatch(Frame& frame) {
  if (auto* notice = std::get_if<AbortNotice>(&frame)) return set_notice(*notice);
  if (auto* gathered = std::get_if<Gathered>(&frame)) {
    const auto at = slots_.find(gathered->world);
    if (at == slots_.end() || !at->second->waits || at->second->sequence != gathered->sequence) return;
    at->second->gathered = std::move(gathered->bytes);
    at->second->answer_wake.signal();
  } else if (auto* failure = std::get_if<Failure>(&frame)) {
    const auto at = slots_.find(failure->world);
    if (at == slots_.end() || !at->second->waits || at->second->sequence != failure->sequence) return;
    at->second->failure = std::move(*failure);
    at->second->answer_wake.signal();
  }
}

void Channel::set_notice(const AbortNotice& notice) {
  if (notice_) return;
  notice_ = notice;
  wake_all();
}

void Channel::wake_all() {
  for (auto& [world, slot] : slots_) {
    slot->answer_wake.signal();
    if (notice_ && !slot->aborted) slot->notice_wake.signal();
  }
}

}  // namespace isotope::bootstrap
