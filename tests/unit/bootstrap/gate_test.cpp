// The gate of a TCP rendezvous by itself: what strangers send, or do not send, costs it neither time nor memory.
#include "bootstrap/gate.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support.hpp"

namespace isotope::bootstrap {
namespace {

using namespace testing;

/// A gate of the test's own, polled by hand.
struct GateFixture : ::testing::Test {
  Key key = Key::random();
  JobId job = random_job_id();
  std::vector<int> entered;
  std::unique_ptr<Gate> gate;
  os::SocketAddress address;

  void open(std::uint64_t deadline_ns, std::size_t max_pending = 1024) {
    os::Fd listener = os::tcp_listen(os::resolve("127.0.0.1", 0).front());
    address = os::local_address(listener.get());
    Gate::Options options;
    options.key = key;
    options.job = job;
    options.handshake_deadline_ns = deadline_ns;
    options.max_pending = max_pending;
    gate = std::make_unique<Gate>(
        std::move(listener), options, [](const Hello&, const std::string&) { return std::nullopt; },
        [this](const Hello& hello, os::Fd) { entered.push_back(hello.rank); });
  }
  void run_until(const std::function<bool()>& done, double seconds) {
    const std::uint64_t start = os::now_ns();
    while (!done() && seconds_since(start) < seconds) {
      std::array<os::PollEntry, 1> entry{{{gate->poll_fd(), os::kReadable, false}}};
      os::poll_fds(entry, 5);
      gate->handle();
    }
  }
};

TEST_F(GateFixture, ASilentClientIsDroppedAtItsDeadline) {
  open(300 * kMs);
  const os::Fd silent = connect_to(address);
  run_until([&] { return gate->pending() == 1; }, 5);
  const std::uint64_t start = os::now_ns();
  run_until([&] { return gate->pending() == 0; }, 5);
  EXPECT_EQ(gate->pending(), 0u);
  EXPECT_GT(seconds_since(start), 0.2);
  EXPECT_LT(seconds_since(start), kSoon);
  EXPECT_TRUE(closes_within(silent.get(), 1));
  EXPECT_TRUE(entered.empty());
}

TEST_F(GateFixture, ATrickleOfBytesDoesNotMoveTheDeadline) {
  open(300 * kMs);
  const os::Fd slow = connect_to(address);
  Hello hello;
  hello.job = job;
  const Bytes bytes = encode(hello);
  run_until([&] { return gate->pending() == 1; }, 5);
  std::size_t sent = 0;
  const std::uint64_t start = os::now_ns();
  // A byte every 100 ms: were the deadline counted from the last one, it would come after the last of the twenty.
  run_until(
      [&] {
        const bool due = seconds_since(start) > 0.1 * static_cast<double>(sent);
        if (due && sent < 20) sent += os::send_some(slow.get(), ByteView(bytes).subspan(sent, 1)).bytes;
        return gate->pending() == 0;
      },
      5);
  EXPECT_EQ(gate->pending(), 0u);
  EXPECT_LT(seconds_since(start), 1.9);
}

TEST_F(GateFixture, WhatIsNoFrameIsDroppedAtOnce) {
  open(30 * kSecond);
  const std::string http = "GET / HTTP/1.1\r\n\r\n";
  const os::Fd stranger = connect_to(address);
  os::send_some(stranger.get(), as_bytes(http));
  run_until([&] { return gate->pending() == 1; }, 5);
  run_until([&] { return gate->pending() == 0; }, 5);
  EXPECT_TRUE(closes_within(stranger.get(), 1));
}

TEST_F(GateFixture, TheOldestMakesRoomAndNothingIsAllocatedForStrangers) {
  open(30 * kSecond, 4);
  std::vector<os::Fd> strangers;
  for (int i = 0; i < 20; ++i) strangers.push_back(connect_to(address));
  int rounds = 0;
  run_until([&] { return ++rounds > 20; }, 5);
  EXPECT_LE(gate->pending(), 4u);
  EXPECT_TRUE(closes_within(strangers[0].get(), 1));
  // One that belongs to the job still gets in.
  const os::Fd good = connect_to(address);
  Hello hello;
  hello.job = job;
  hello.nonce = random_nonce();
  ClientHandshake handshake(&key, hello);
  Decoder decoder(Caps::handshake_client());
  os::send_some(good.get(), encode(hello));
  run_until(
      [&] {
        std::byte one;
        while (os::recv_some(good.get(), {&one, 1}).status == os::Io::Status::ok) {
          decoder.feed({&one, 1});
          if (const auto frame = decoder.take(); frame && !handshake.on_frame(*frame) && handshake.reply())
            os::send_some(good.get(), encode(*handshake.reply()));
        }
        return !entered.empty();
      },
      5);
  EXPECT_EQ(entered, std::vector<int>{0});
}

}  // namespace
}  // namespace isotope::bootstrap
