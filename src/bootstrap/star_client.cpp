// See star_client.hpp.
#include "bootstrap/star_client.hpp"

#include <fmt/format.h>

#include <array>

namespace isotope::bootstrap {
namespace {

constexpr std::uint64_t kSocketTag = 0;
constexpr std::uint64_t kNoticeTag = 1;
// The server knows who is missing and answers at the deadline. Only a server that is itself stuck lets a PE give up
// alone, a little later, yet inside the promised 10 %.
constexpr std::uint64_t kGracePercent = 7;
constexpr std::uint64_t kLastWordsNs = 200'000'000;

}  // namespace

StarClient::StarClient(std::string name, std::shared_ptr<Channel> channel, os::Deadline begun,
                       std::function<void()> at_end)
    : name_(std::move(name)),
      channel_(std::move(channel)),
      slot_(channel_->join()),
      at_end_(std::move(at_end)),
      deadline_(begun) {
  watch_.add(channel_->fd(), os::kReadable, kSocketTag);
  watch_.add(slot_->notice_wake.fd(), os::kReadable, kNoticeTag);
}

StarClient::~StarClient() {
  if (channel_->forked()) return;
  if (failed_) leave();
  if (!left_) {
    abort({Code::peer_lost, rank(), rank(), 0, fmt::format("PE {} dropped its World without leaving the job", rank())});
    channel_->detach(*slot_);
  }
  channel_->flush(kLastWordsNs);
  if (at_end_) at_end_();
}

std::vector<std::byte> StarClient::allgather(std::span<const std::byte> mine) {
  if (channel_->forked())
    throw Error(Code::forked, "this process is a fork of a PE; only the parent may use its World", rank());
  if (mine.size() > kMaxAllgatherBytes)
    throw Error(Code::invalid_argument,
                fmt::format("an all-gather of {} bytes is above the cap of {}", mine.size(), kMaxAllgatherBytes),
                rank());
  const os::Deadline deadline = first_ ? deadline_ : os::Deadline::after_ns(deadline_.span_ns());
  first_ = false;
  const std::uint64_t gone = deadline.elapsed_ns();
  try {
    channel_->post(*slot_, mine, gone < deadline.span_ns() ? deadline.span_ns() - gone : 0);
    return await_answer(deadline);
  } catch (const Error& error) {
    failed_ = true;
    if (error.code() != Code::timeout) throw;
    throw Error(Code::timeout,
                fmt::format("PE {} gave up after {:.1f} s in bootstrap ({}): {}", rank(),
                            static_cast<double>(deadline.elapsed_ns()) * 1e-9, name_, error.what()),
                rank(), error.peer());
  }
}

std::vector<std::byte> StarClient::await_answer(const os::Deadline& deadline) {
  const std::uint64_t patience = deadline.span_ns() + deadline.span_ns() / 100 * kGracePercent;
  for (;;) {
    if (auto answer = channel_->poll_answer(*slot_)) return std::move(*answer);
    const std::uint64_t gone = deadline.elapsed_ns();
    if (gone >= patience) {
      channel_->forget(*slot_);
      throw Error(Code::timeout,
                  "the process that serves the rendezvous does not answer; is it stopped? "
                  "ISOTOPE_BOOTSTRAP_DEADLINE sets how long to wait",
                  rank());
    }
    const std::uint32_t want = os::kReadable | (channel_->wants_write() ? os::kWritable : 0);
    std::array<os::PollEntry, 2> entries{
        {{channel_->fd(), want, false}, {slot_->answer_wake.fd(), os::kReadable, false}}};
    os::poll_fds(entries, os::Deadline::after_ns(patience - gone).poll_timeout_ms());
  }
}

void StarClient::abort(const AbortNotice& notice) noexcept {
  if (channel_->forked()) return;
  AbortNotice mine = notice;
  mine.by = rank();
  channel_->abort(*slot_, mine);
}

void StarClient::leave() noexcept {
  if (channel_->forked()) return;
  if (!left_.exchange(true)) channel_->leave(*slot_);
}

std::optional<AbortNotice> StarClient::drain_notice() {
  if (channel_->forked()) return std::nullopt;
  auto notice = channel_->poll_notice(*slot_);
  // A root that is no longer needed may end; its closed socket would stay readable for ever.
  if (!notice && channel_->closed()) watch_.remove(channel_->fd());
  return notice;
}

}  // namespace isotope::bootstrap
