// A connected socket that speaks in frames: what both ends of the star are made of. Never blocks.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/codec.hpp"
#include "os/fd.hpp"

namespace isotope::bootstrap {

class Connection {
 public:
  /// `decoder` may hold bytes that came with the handshake.
  Connection(os::Fd socket, Decoder decoder);

  int fd() const noexcept { return socket_.get(); }

  /// Appends an encoded frame and sends what the socket takes now. One reply to many PEs is encoded once and shared.
  void send(std::shared_ptr<const Bytes> frame);
  void send(const Frame& frame);
  /// Sends what the socket takes now.
  void flush();
  /// True while bytes wait for the socket to become writable.
  bool wants_write() const noexcept { return !out_.empty() && !closed_; }

  /// Appends the frames that have come to `frames`. Frames from before an end of file are delivered.
  void receive(std::vector<Frame>& frames);
  /// The other end is gone (end of file, or the socket failed).
  bool closed() const noexcept { return closed_; }
  /// The other end broke the protocol; nothing is read any more.
  const std::optional<DecodeError>& error() const { return decoder_.error(); }

 private:
  os::Fd socket_;
  Decoder decoder_;
  std::deque<std::shared_ptr<const Bytes>> out_;
  std::size_t sent_ = 0;  // of out_.front()
  bool closed_ = false;
};

}  // namespace isotope::bootstrap
