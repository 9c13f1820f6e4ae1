// Rendezvous over TCP with a unique id or a key file: good PEs meet, strangers do not, whatever they send.
#include "bootstrap/tcp.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "bootstrap/gate.hpp"
#include "bootstrap/unique_id_format.hpp"
#include "os/private_file.hpp"
#include "support.hpp"

namespace isotope::bootstrap {
namespace {

using namespace testing;

class UniqueIdAtSize : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, UniqueIdAtSize, ::testing::Values(1, 2, 3, 5, 8));

TEST_P(UniqueIdAtSize, PesMeet) {
  const int n = GetParam();
  const UniqueId id = get_unique_id();
  on_threads(n, [&](int rank) {
    auto boot = from_unique_id(rank, n, id, make_knobs());
    EXPECT_EQ(boot->rank(), rank);
    EXPECT_TRUE(gather_rounds(*boot, 10));
    boot->leave();
  });
}

TEST(UniqueId, EveryCallSplitAtEachByte) {
  const UniqueId id = get_unique_id();
  os::set_io_chunk_for_tests(1);
  on_threads(3, [&](int rank) {
    auto boot = from_unique_id(rank, 3, id, make_knobs());
    EXPECT_TRUE(gather_rounds(*boot, 2));
    boot->leave();
  });
  os::set_io_chunk_for_tests(0);
}

TEST(UniqueId, ProcessesMeetAndThePeWithTheRootMayLeaveFirst) {
  constexpr int kPes = 4;
  // The root lives in the process of PE 0, which exits right after its last all-gather.
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto statuses = on_processes(kPes, [&](int rank) {
    UniqueId id{};
    if (rank == 0) {
      id = get_unique_id();
      for (int i = 1; i < kPes; ++i)
        if (::write(ends[1], &id, sizeof id) != sizeof id) return 9;
    } else if (::read(ends[0], &id, sizeof id) != sizeof id) {
      return 9;
    }
    auto boot = from_unique_id(rank, kPes, id, make_knobs());
    if (!gather_rounds(*boot, 20, 10'000)) return 1;
    boot->leave();
    return 0;
  });
  ::close(ends[0]);
  ::close(ends[1]);
  for (const int status : statuses) EXPECT_EQ(status, 0);
}

TEST(UniqueId, SeveralJobsAtOnceDoNotMix) {
  constexpr int kJobs = 4;
  std::vector<UniqueId> ids;
  for (int i = 0; i < kJobs; ++i) ids.push_back(get_unique_id());
  on_threads(2 * kJobs, [&](int i) {
    auto boot = from_unique_id(i % 2, 2, ids[static_cast<std::size_t>(i / 2)], make_knobs());
    const Bytes job{static_cast<std::byte>(i / 2)};
    const Bytes all = boot->allgather(job);
    EXPECT_EQ(all, Bytes(2, job[0]));
    boot->leave();
  });
}

TEST(UniqueId, OverIpv6) {
  ::setenv("ISOTOPE_LISTEN", "::1", 1);
  std::optional<UniqueId> id;
  try {
    id = get_unique_id();
  } catch (const Error&) {
  }
  ::unsetenv("ISOTOPE_LISTEN");
  if (!id) GTEST_SKIP() << "this machine has no IPv6";
  EXPECT_EQ(unpack(*id).address.family, 6);
  on_threads(2, [&](int rank) {
    auto boot = from_unique_id(rank, 2, *id, make_knobs());
    EXPECT_TRUE(gather_rounds(*boot, 3));
    boot->leave();
  });
}

TEST(UniqueId, AnyAddressIsReplacedByOneThatCanBeReached) {
  ::setenv("ISOTOPE_LISTEN", "0.0.0.0", 1);
  const UniqueId id = get_unique_id();
  ::unsetenv("ISOTOPE_LISTEN");
  EXPECT_FALSE(unpack(id).address.is_any());
  auto boot = from_unique_id(0, 1, id, make_knobs());
  boot->barrier();
  boot->leave();
  // Loopback unless told otherwise.
  EXPECT_EQ(os::host_text(unpack(get_unique_id()).address), "127.0.0.1");
}

TEST(UniqueId, GarbageIsRefusedByValue) {
  UniqueId id{};
  EXPECT_EQ(error_of([&] { from_unique_id(0, 2, id, make_knobs()); }).code(), Code::invalid_argument);
  const UniqueId good = get_unique_id();
  for (std::size_t i = 0; i < sizeof id; ++i) {
    id = good;
    id.bytes[i] ^= std::byte{0x10};
    const Code code = error_of([&] { unpack(id); }).code();
    EXPECT_TRUE(code == Code::invalid_argument || (code == Code::refused && i >= 8 && i < 10)) << "byte " << i;
  }
  EXPECT_EQ(error_of([&] { from_unique_id(2, 2, good, make_knobs()); }).code(), Code::invalid_argument);
  EXPECT_EQ(error_of([&] { from_unique_id(0, 0, good, make_knobs()); }).code(), Code::invalid_argument);
}

TEST(UniqueId, TimeoutNamesTheMissingOnEveryPeThatCame) {
  const UniqueId id = get_unique_id();
  on_threads(3, [&](int rank) {
    const std::uint64_t start = os::now_ns();
    const Error error = error_of([&] {
      auto boot = from_unique_id(rank, 5, id, make_knobs(2 * kSecond));
      boot->barrier();
    });
    EXPECT_TRUE(at_deadline(start, 2 * kSecond));
    EXPECT_EQ(error.code(), Code::timeout);
    EXPECT_NE(std::string(error.what()).find("PEs 3, 4 of 5"), std::string::npos) << error.what();
  });
}

TEST(UniqueId, TheRootsDeathReleasesTheOthers) {
  int to_root[2], from_root[2];
  ASSERT_EQ(::pipe(to_root), 0);
  ASSERT_EQ(::pipe(from_root), 0);
  const auto statuses = on_processes(
      1,
      [&](int) {
        const UniqueId id = get_unique_id();
        if (::write(from_root[1], &id, sizeof id) != sizeof id) return 9;
        char byte;
        if (::read(to_root[0], &byte, 1) != 1) return 9;
        ::kill(::getpid(), SIGKILL);
        return 0;
      },
      [&](const auto&) {
        UniqueId id;
        ASSERT_EQ(::read(from_root[0], &id, sizeof id), static_cast<ssize_t>(sizeof id));
        auto boot = from_unique_id(0, 2, id, make_knobs());
        std::thread killer([&] { ASSERT_EQ(::write(to_root[1], "x", 1), 1); });
        const std::uint64_t start = os::now_ns();
        EXPECT_EQ(error_of([&] { boot->barrier(); }).code(), Code::bootstrap_failed);
        EXPECT_LT(seconds_since(start), kSoon);
        killer.join();
        // Nobody listens there any more, which is clear at once too.
        EXPECT_EQ(error_of([&] { from_unique_id(1, 2, id, make_knobs()); }).code(), Code::bootstrap_failed);
        EXPECT_LT(seconds_since(start), kSoon);
      });
  EXPECT_TRUE(WIFSIGNALED(statuses[0]));
  for (const int fd : {to_root[0], to_root[1], from_root[0], from_root[1]}) ::close(fd);
}

TEST(UniqueId, DuplicateRankAndWrongSizeAreRefusedAndNamed) {
  const UniqueId id = get_unique_id();
  auto first = from_unique_id(1, 3, id, make_knobs());
  const Error twice = error_of([&] { from_unique_id(1, 3, id, make_knobs()); });
  EXPECT_EQ(twice.code(), Code::refused);
  // Both claimants, by process.
  const std::string pid = "process " + std::to_string(::getpid());
  const std::string text = twice.what();
  EXPECT_NE(text.find(pid), std::string::npos) << text;
  EXPECT_NE(text.find(pid, text.find(pid) + 1), std::string::npos) << text;
  const Error size = error_of([&] { from_unique_id(0, 4, id, make_knobs()); });
  EXPECT_EQ(size.code(), Code::refused);
  EXPECT_NE(std::string(size.what()).find("PE 0 of 4"), std::string::npos) << size.what();
  EXPECT_NE(std::string(size.what()).find("PE 1 of 3"), std::string::npos) << size.what();
  // The job itself goes on.
  std::vector<std::unique_ptr<Bootstrap>> rest;
  rest.push_back(from_unique_id(0, 3, id, make_knobs()));
  rest.push_back(from_unique_id(2, 3, id, make_knobs()));
  rest.push_back(std::move(first));
  on_threads(3, [&](int i) {
    EXPECT_TRUE(gather_rounds(*rest[static_cast<std::size_t>(i)], 2));
    rest[static_cast<std::size_t>(i)]->leave();
  });
}

TEST(UniqueId, WrongKeyIsRefusedOnceLoggedAndTheJobGoesOn) {
  const UniqueId id = get_unique_id();
  UniqueIdParts parts = unpack(id);
  parts.key = Key::random();
  const UniqueId wrong = pack(parts);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(error_of([&] { from_unique_id(0, 2, wrong, make_knobs()); }).code(), Code::refused);
  on_threads(2, [&](int rank) {
    auto boot = from_unique_id(rank, 2, id, make_knobs());
    boot->barrier();
    boot->leave();
  });
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::size_t first = log.find("does not hold the job's key");
  EXPECT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("does not hold the job's key", first + 1), std::string::npos) << "once per source: " << log;
}

TEST(UniqueId, AnotherVersionIsTold) {
  const UniqueId id = get_unique_id();
  const os::Fd fd = connect_to(unpack(id).address);
  Hello hello;
  os::send_some(fd.get(), encode(hello, Dialect{2, kFeatures}));
  std::array<os::PollEntry, 1> entry{{{fd.get(), os::kReadable, false}}};
  os::poll_fds(entry, 5000);
  std::array<std::byte, 4096> piece;
  const os::Io io = os::recv_some(fd.get(), piece);
  ASSERT_EQ(io.status, os::Io::Status::ok);
  Decoder decoder(Caps::handshake_client());
  decoder.feed(ByteView(piece).first(io.bytes));
  const auto frame = decoder.take();
  ASSERT_TRUE(frame && std::holds_alternative<Failure>(*frame));
  EXPECT_EQ(std::get<Failure>(*frame).code, Code::refused);
  EXPECT_NE(std::get<Failure>(*frame).message.find("version 2"), std::string::npos);
}

TEST(UniqueId, APeThatDiesReleasesTheOthers) {
  const UniqueId id = get_unique_id();
  on_threads(3, [&](int rank) {
    auto boot = from_unique_id(rank, 3, id, make_knobs());
    boot->barrier();
    if (rank == 2) return;  // closes without leave()
    const std::uint64_t start = os::now_ns();
    const Error error = error_of([&] { boot->barrier(); });
    EXPECT_EQ(error.code(), Code::peer_lost);
    EXPECT_EQ(error.peer(), 2);
    EXPECT_LT(seconds_since(start), kSoon);
  });
}

std::size_t resident_kib() {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word)
    if (word == "VmRSS:") {
      std::size_t kib = 0;
      file >> kib;
      return kib;
    }
  return 0;
}

TEST(Hostile, ARendezvousCompletesAmongTwoHundredStrangers) {
  const UniqueId id = get_unique_id();
  const os::SocketAddress address = unpack(id).address;
  const UniqueIdParts parts = unpack(id);
  const std::string http = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  std::vector<os::Fd> strangers;
  const std::size_t before = resident_kib();
  Hello hello;
  hello.size = 3;
  hello.job = parts.job;
  for (int i = 0; i < 200; ++i) {
    os::Fd fd = connect_to(address);
    ASSERT_TRUE(fd) << i;
    switch (i % 5) {
      case 0:
        break;  // says nothing
      case 1:
        os::send_some(fd.get(), as_bytes(http));
        break;  // speaks something else
      case 2:
        os::send_some(fd.get(), ByteView(encode(hello)).first(20));
        break;  // stops in the middle
      case 3:
        os::send_some(fd.get(), encode(hello));
        break;  // asks, and never proves
      case 4:
        fd.reset();
        break;  // goes away
    }
    strangers.push_back(std::move(fd));
  }
  const std::uint64_t start = os::now_ns();
  on_threads(3, [&](int rank) {
    auto boot = from_unique_id(rank, 3, id, make_knobs());
    EXPECT_TRUE(gather_rounds(*boot, 5));
    boot->leave();
  });
  EXPECT_LT(seconds_since(start), kSoon);
  // A few threads and their stacks, but nothing per stranger worth the name.
  EXPECT_TRUE(kSanitized || resident_kib() < before + 1024) << before << " KiB before, " << resident_kib() << " after";
}

std::string write_key(mode_t mode, const std::string& text) {
  char path[] = "/tmp/isotope-key-XXXXXX";
  const int fd = ::mkstemp(path);
  EXPECT_GE(fd, 0);
  EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::fchmod(fd, mode);
  ::close(fd);
  return path;
}

TEST(Root, PesMeetByAddressAndKeyFileTwiceInARow) {
  const std::string key = write_key(0600, std::string(64, 'a') + "\n");
  std::uint16_t port = 0;
  {
    const os::Fd probe = os::tcp_listen(os::resolve("127.0.0.1", 0).front());
    port = os::local_address(probe.get()).port;
  }
  const auto statuses = on_processes(3, [&](int rank) {
    runtime::Knobs knobs = make_knobs();
    knobs.root = "127.0.0.1:" + std::to_string(port);
    knobs.job_key_file = key;
    knobs.rank = rank;
    knobs.size = 3;
    for (int round = 0; round < 2; ++round) {
      auto boot = from_environment(knobs);
      if (boot->name() != "tcp" || !gather_rounds(*boot, 5)) return 1;
      boot->leave();
    }
    return 0;
  });
  ::unlink(key.c_str());
  for (const int status : statuses) EXPECT_EQ(status, 0);
}

TEST(Root, TimesOutWhenPeZeroNeverComes) {
  const std::string key = write_key(0600, std::string(64, '7'));
  runtime::Knobs knobs = make_knobs(kSecond);
  knobs.root = "127.0.0.1:1";  // nobody listens there
  knobs.job_key_file = key;
  knobs.rank = 1;
  knobs.size = 2;
  const std::uint64_t start = os::now_ns();
  const Error error = error_of([&] { from_root(knobs); });
  ::unlink(key.c_str());
  EXPECT_EQ(error.code(), Code::timeout);
  EXPECT_EQ(error.peer(), 0);
  EXPECT_NE(std::string(error.what()).find("PE 0 never came"), std::string::npos) << error.what();
  EXPECT_TRUE(at_deadline(start, kSecond));
}

TEST(Root, KeyFilesAndAddresses) {
  EXPECT_EQ(parse_root("node0:29400"), (std::pair<std::string, std::uint16_t>("node0", 29400)));
  EXPECT_EQ(parse_root("[::1]:80").first, "[::1]");
  for (const char* bad : {"", "node0", ":80", "node0:", "node0:0", "node0:65536", "node0:8x", "::1:80"}) {
    const Error error = error_of([&] { parse_root(bad); });
    EXPECT_EQ(error.code(), Code::invalid_argument) << bad;
    EXPECT_NE(std::string(error.what()).find("ISOTOPE_ROOT"), std::string::npos);
  }
  EXPECT_EQ(parse_key(" " + std::string(64, 'f') + "\n", "k").bytes[31], std::byte{0xff});
  const std::string secret = "0123456789abcdef";
  for (const std::string& bad : {std::string(), secret, std::string(63, 'a') + "g", std::string(66, 'a')}) {
    const Error error = error_of([&] { parse_key(bad, "k"); });
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_TRUE(bad.empty() || std::string(error.what()).find(bad) == std::string::npos)
        << "the key leaks into the message";
  }
  for (const mode_t mode : {0640, 0604, 0660}) {
    const std::string path = write_key(mode, std::string(64, 'a'));
    const Error error = error_of([&] { os::read_private_file(path, 4096); });
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("chmod 600"), std::string::npos) << error.what();
    ::unlink(path.c_str());
  }
  EXPECT_EQ(error_of([&] { os::read_private_file("/nonexistent/key", 10); }).code(), Code::system);
  EXPECT_EQ(error_of([&] { os::read_private_file("/dev/null", 10); }).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace isotope::bootstrap
