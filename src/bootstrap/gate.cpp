// See gate.hpp.
#include "bootstrap/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "os/clock.hpp"
#include "os/identity.hpp"
#include "os/socket.hpp"
#include "runtime/log.hpp"

namespace isotope::bootstrap {
namespace {

constexpr std::uint64_t kListenerTag = 0;
constexpr int kAcceptsPerRound = 64;
constexpr std::size_t kMaxWarnedSources = 1024;
constexpr std::uint64_t kOutOfDescriptorsPauseNs = 20'000'000;

std::string describe(const Hello& hello, const std::string& source) {
  std::string host;
  for (const char c : hello.host) host += c > 0x20 && c < 0x7f ? c : '?';
  return fmt::format("PE {} of {} (process {} on {}, from {})", hello.rank, hello.size, hello.pid, host, source);
}

}  // namespace

struct Gate::Visitor {
  Visitor(os::Fd fd, std::string from, std::uint64_t until, const Options& options)
      : socket(std::move(fd)),
        source(std::move(from)),
        deadline_ns(until),
        decoder(Caps::handshake_server()),
        handshake(options.key ? &*options.key : nullptr, options.job) {}

  os::Fd socket;
  std::string source;
  std::uint64_t deadline_ns;
  Decoder decoder;
  ServerHandshake handshake;
  bool refused = false;  // has its answer; only waits for the other end to close
  At place;
};

Gate::Gate(os::Fd listener, Options options, Admit admit, Enter enter)
    : listener_(std::move(listener)), options_(std::move(options)), admit_(std::move(admit)), enter_(std::move(enter)) {
  // Strangers must not use up the descriptors of the program this runs in.
  options_.max_pending = std::clamp<std::size_t>(os::open_file_limit() / 4, 1, options_.max_pending);
  epoll_.add(listener_.get(), os::kReadable, kListenerTag);
}

Gate::~Gate() = default;

void Gate::stop_listening() {
  if (!listener_) return;
  epoll_.remove(listener_.get());
  listener_.reset();
  accept_again_ns_ = 0;
}

std::optional<std::uint64_t> Gate::next_deadline_ns() const {
  std::optional<std::uint64_t> next;
  if (!visitors_.empty()) next = visitors_.front()->deadline_ns;  // all have the same span, so the oldest is first
  if (accept_again_ns_ != 0 && (!next || accept_again_ns_ < *next)) next = accept_again_ns_;
  return next;
}

void Gate::handle() {
  std::array<os::Epoll::Event, 64> events;
  const std::size_t n = epoll_.wait(events, 0);
  bool accept = false;
  for (std::size_t i = 0; i < n; ++i) {
    // Visitors first: accepting may remove the oldest of them. A visitor removes only itself.
    if (events[i].tag == kListenerTag)
      accept = true;
    else
      service(*reinterpret_cast<Visitor*>(events[i].tag));
  }
  const std::uint64_t now = os::now_ns();
  while (!visitors_.empty() && visitors_.front()->deadline_ns <= now) {
    runtime::log_debug(
        fmt::format("rendezvous: a connection from {} proved nothing in time", visitors_.front()->source));
    remove(*visitors_.front());
  }
  if (accept_again_ns_ != 0 && now >= accept_again_ns_ && listener_) {
    accept_again_ns_ = 0;
    epoll_.add(listener_.get(), os::kReadable, kListenerTag);
  }
  if (accept && listener_) accept_some();
}

void Gate::accept_some() {
  for (int i = 0; i < kAcceptsPerRound; ++i) {
    os::Accepted accepted = os::accept_connection(listener_.get());
    if (!accepted.fd &&
        (accepted.err == EMFILE || accepted.err == ENFILE || accepted.err == ENOMEM || accepted.err == ENOBUFS)) {
      if (!visitors_.empty()) {
        remove(*visitors_.front());
        continue;
      }
      // Nothing of ours to give back: look again a little later instead of spinning on a ready listener.
      epoll_.remove(listener_.get());
      accept_again_ns_ = os::now_ns() + kOutOfDescriptorsPauseNs;
      return;
    }
    if (!accepted.fd) return;
    const std::string source = os::host_text(accepted.from);
    if (!options_.key && os::peer_uid(accepted.fd.get()) != os::own_uid()) {
      warn_once(source, "rendezvous: refused a connection of another user");
      continue;
    }
    if (visitors_.size() >= options_.max_pending) remove(*visitors_.front());
    visitors_.push_back(std::make_unique<Visitor>(std::move(accepted.fd), source,
                                                  os::now_ns() + options_.handshake_deadline_ns, options_));
    Visitor& visitor = *visitors_.back();
    visitor.place = std::prev(visitors_.end());
    epoll_.add(visitor.socket.get(), os::kReadable, reinterpret_cast<std::uint64_t>(&visitor));
  }
}

void Gate::service(Visitor& visitor) {
  std::array<std::byte, 512> piece;
  const os::Io io = os::recv_some(visitor.socket.get(), piece);
  if (io.status == os::Io::Status::again) return;
  if (io.status != os::Io::Status::ok) return remove(visitor);
  if (visitor.refused) return;  // it is still talking; its deadline ends that
  const std::size_t used = visitor.decoder.feed(ByteView(piece).first(io.bytes));
  if (const auto& error = visitor.decoder.error()) {
    // A stranger that does not even speak the protocol gets no answer. Another version of us is told which.
    if (error->kind != DecodeError::Kind::other_version && error->kind != DecodeError::Kind::other_features)
      return remove(visitor);
    warn_once(visitor.source, fmt::format("rendezvous: refused a PE from {}: {}", visitor.source, error->message));
    return refuse(visitor, Failure{0, 0, Code::refused, Error::kNobody, error->message});
  }
  // Each side speaks in turn, so there is never anything behind a frame.
  if (used != io.bytes) return remove(visitor);
  if (const auto frame = visitor.decoder.take()) step(visitor, *frame);
}

void Gate::step(Visitor& visitor, const Frame& frame) {
  const auto next = visitor.handshake.on_frame(frame);
  const auto reply = visitor.handshake.reply();
  switch (next) {
    case ServerHandshake::Next::wait:
      if (reply && !say(visitor, *reply)) remove(visitor);
      return;
    case ServerHandshake::Next::drop:
      return remove(visitor);
    case ServerHandshake::Next::stranger:
      warn_once(visitor.source, fmt::format("rendezvous: refused {}: it does not hold the job's key",
                                            describe(visitor.handshake.hello(), visitor.source)));
      return refuse(visitor, *reply);
    case ServerHandshake::Next::admit:
      break;
  }
  const Hello& hello = visitor.handshake.hello();
  if (const auto why = admit_(hello, describe(hello, visitor.source))) {
    runtime::log_warn("rendezvous: " + *why);
    return refuse(visitor, Failure{0, 0, Code::refused, hello.rank, *why});
  }
  if (!say(visitor, visitor.handshake.welcome())) return remove(visitor);
  epoll_.remove(visitor.socket.get());
  enter_(hello, std::move(visitor.socket));
  visitors_.erase(visitor.place);
}

/// A frame of the handshake always fits the empty buffer of a new socket; where it does not, the other end is odd.
bool Gate::say(Visitor& visitor, const Frame& frame) {
  const Bytes bytes = encode(frame);
  std::size_t sent = 0;
  // A few tries, since a call may say `again` without need when tests split it; a full buffer says so every time.
  for (int again = 0; sent < bytes.size() && again < 32;) {
    const os::Io io = os::send_some(visitor.socket.get(), ByteView(bytes).subspan(sent));
    if (io.status == os::Io::Status::again)
      ++again;
    else if (io.status != os::Io::Status::ok)
      return false;
    else
      again = 0;
    sent += io.bytes;
  }
  return sent == bytes.size();
}

/// Says why and waits for the other end to close: closing first could throw away the answer on its way.
void Gate::refuse(Visitor& visitor, const Frame& why) {
  if (!say(visitor, why)) return remove(visitor);
  os::shutdown_write(visitor.socket.get());
  visitor.refused = true;
}

void Gate::remove(Visitor& visitor) {
  epoll_.remove(visitor.socket.get());
  visitors_.erase(visitor.place);
}

void Gate::warn_once(const std::string& source, const std::string& message) {
  if (warned_.size() < kMaxWarnedSources && warned_.insert(source).second) runtime::log_warn(message);
}

}  // namespace isotope::bootstrap
