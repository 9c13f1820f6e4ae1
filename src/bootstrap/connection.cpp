// See connection.hpp.
#include "bootstrap/connection.hpp"

#include <array>

#include "os/socket.hpp"

namespace isotope::bootstrap {

Connection::Connection(os::Fd socket, Decoder decoder) : socket_(std::move(socket)), decoder_(std::move(decoder)) {}

void Connection::send(std::shared_ptr<const Bytes> frame) {
  if (closed_) return;
  out_.push_back(std::move(frame));
  flush();
}

void Connection::send(const Frame& frame) { send(std::make_shared<const Bytes>(encode(frame))); }

void Connection::flush() {
  while (wants_write()) {
    const ByteView left = ByteView(*out_.front()).subspan(sent_);
    const os::Io io = os::send_some(socket_.get(), left);
    if (io.status == os::Io::Status::again) return;
    if (io.status != os::Io::Status::ok) {
      // Not closed_: what the other end sent before it went away is still to be read, and reading finds the end of
      // file.
      out_.clear();
      sent_ = 0;
      return;
    }
    sent_ += io.bytes;
    if (sent_ == out_.front()->size()) {
      out_.pop_front();
      sent_ = 0;
    }
  }
}

void Connection::receive(std::vector<Frame>& frames) {
  std::array<std::byte, 16 * 1024> piece;
  // Bounded, so that one busy PE does not keep the server from the others; the rest is read in the next round.
  for (int round = 0; round < 16 && !closed_ && !decoder_.error(); ++round) {
    const os::Io io = os::recv_some(socket_.get(), piece);
    if (io.status == os::Io::Status::again) return;
    if (io.status != os::Io::Status::ok) {
      closed_ = true;
      return;
    }
    ByteView left = ByteView(piece).first(io.bytes);
    while (!left.empty() && !decoder_.error()) {
      left = left.subspan(decoder_.feed(left));
      if (auto frame = decoder_.take()) frames.push_back(std::move(*frame));
    }
  }
}

}  // namespace isotope::bootstrap
