// See rendezvous.hpp.
#include "bootstrap/rendezvous.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "os/identity.hpp"
#include "os/poll.hpp"
#include "os/process.hpp"
#include "os/socket.hpp"

namespace isotope::bootstrap {
namespace {

/// False at the deadline.
bool wait_for(int fd, std::uint32_t want, const os::Deadline& deadline) {
  while (!deadline.passed()) {
    std::array<os::PollEntry, 1> entry{{{fd, want, false}}};
    os::poll_fds(entry, deadline.poll_timeout_ms());
    if (entry[0].ready) return true;
  }
  return false;
}

enum class Outcome { done, closed, late };

Outcome send_all(int fd, const Frame& frame, const os::Deadline& deadline) {
  const Bytes bytes = encode(frame);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const os::Io io = os::send_some(fd, ByteView(bytes).subspan(sent));
    if (io.status == os::Io::Status::again && !wait_for(fd, os::kWritable, deadline)) return Outcome::late;
    if (io.status == os::Io::Status::closed || io.status == os::Io::Status::failed) return Outcome::closed;
    sent += io.bytes;
  }
  return Outcome::done;
}

Outcome shake_hands(int fd, ClientHandshake& handshake, Decoder& decoder, const os::Deadline& deadline) {
  if (const Outcome sent = send_all(fd, handshake.hello(), deadline); sent == Outcome::late) return sent;
  // A root that closed may still have said why.
  for (;;) {
    if (!wait_for(fd, os::kReadable, deadline)) return Outcome::late;
    // Never past the end of the frame: what follows the welcome is the channel's.
    std::byte one;
    const os::Io io = os::recv_some(fd, {&one, 1});
    if (io.status == os::Io::Status::again) continue;
    if (io.status != os::Io::Status::ok) return Outcome::closed;
    decoder.feed({&one, 1});
    if (decoder.error()) throw Error(Code::refused, decoder.error()->message, handshake.hello().rank);
    const auto frame = decoder.take();
    if (!frame) continue;
    if (handshake.on_frame(*frame)) return Outcome::done;
    if (const auto reply = handshake.reply())
      if (const Outcome sent = send_all(fd, *reply, deadline); sent == Outcome::late) return sent;
  }
}

bool may_come_later(int err) {
  return err == ECONNREFUSED || err == EAGAIN || err == ENOENT || err == ETIMEDOUT || err == ECONNRESET ||
         err == EHOSTUNREACH || err == ENETUNREACH || err == EINTR;
}

}  // namespace

std::shared_ptr<Channel> enter(const Door& door, int rank, int size, const JobId& job, const os::Deadline& deadline) {
  Hello hello;
  hello.rank = rank;
  hello.size = size;
  hello.pid = static_cast<std::uint32_t>(os::process_id());
  hello.job = job;
  hello.host = os::host_name();
  int pause_ms = 1;
  std::string last = "nobody listened there";
  while (!deadline.passed()) {
    int err = 0;
    os::Fd socket = door.connect(err);
    if (socket && !wait_for(socket.get(), os::kWritable, deadline)) break;
    if (socket) err = os::socket_error(socket.get());
    if (err != 0) {
      if (!door.patient || !may_come_later(err))
        throw Error(
            Code::bootstrap_failed,
            fmt::format("PE {} cannot connect to {}: {}. {}", rank, door.where, std::strerror(err), door.when_nobody),
            rank, door.root_rank);
    } else if (door.check(socket.get())) {
      hello.nonce = random_nonce();
      ClientHandshake handshake(door.key, hello);
      Decoder decoder(Caps::handshake_client());
      const Outcome outcome = shake_hands(socket.get(), handshake, decoder, deadline);
      if (outcome == Outcome::done) {
        decoder.set_caps(Caps::star_client(size));
        Channel::Options options;
        options.rank = rank;
        options.size = size;
        options.when_closed = {door.root_rank == Error::kNobody ? Code::bootstrap_failed : Code::peer_lost,
                               Error::kNobody, door.root_rank, 0,
                               fmt::format("the root of the rendezvous at {} ended while PEs still needed it. {}",
                                           door.where, door.when_nobody)};
        return std::make_shared<Channel>(std::move(socket), std::move(decoder), std::move(options));
      }
      last = outcome == Outcome::closed ? "the root closed the connection" : "the root did not answer";
    }
    std::array<os::PollEntry, 1> nothing{};
    os::poll_fds(nothing, std::min(pause_ms, deadline.poll_timeout_ms()));
    pause_ms = std::min(pause_ms * 2, 20);
  }
  throw Error(Code::timeout,
              fmt::format("PE {} gave up after {:.1f} s: {}could not meet the other PEs at {} ({}). {}", rank,
                          static_cast<double>(deadline.elapsed_ns()) * 1e-9,
                          door.root_rank == Error::kNobody ? "" : fmt::format("PE {} never came; ", door.root_rank),
                          door.where, last, door.when_nobody),
              rank, door.root_rank);
}

}  // namespace isotope::bootstrap
