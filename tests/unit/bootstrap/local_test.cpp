// PEs of torchrun, mpirun and srun on one host, and of `isotope run`: each process has nothing but its environment.
#include "bootstrap/local.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "bootstrap/launcher.hpp"
#include "support.hpp"

namespace isotope::bootstrap {
namespace {

using namespace testing;

/// Different for every test and every run of it.
std::string fresh_identity() {
  static int count = 0;
  return "test " + std::to_string(::getpid()) + " " + std::to_string(count++);
}

Place place_of(int rank, int size, const std::string& identity) {
  Place place;
  place.launcher = Launcher::torchrun;
  place.rank = rank;
  place.size = size;
  place.identity = identity;
  return place;
}

class LocalAtSize : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, LocalAtSize, ::testing::Values(1, 2, 3, 5, 8));

TEST_P(LocalAtSize, ProcessesMeetSeveralTimes) {
  const int n = GetParam();
  const std::string identity = fresh_identity();
  const auto statuses = on_processes(n, [&](int rank) {
    auto first = meet_locally(place_of(rank, n, identity), make_knobs());
    auto second = meet_locally(place_of(rank, n, identity), make_knobs());
    if (!gather_rounds(*second, 5) || !gather_rounds(*first, 5)) return 1;
    first->leave();
    second->leave();
    auto third = meet_locally(place_of(rank, n, identity), make_knobs());
    if (!gather_rounds(*third, 5, 1000)) return 1;
    third->leave();
    return 0;
  });
  for (const int status : statuses) EXPECT_EQ(status, 0);
}

TEST(Local, FromTheEnvironmentOfTorchrun) {
  const std::string run = fresh_identity();
  const auto statuses = on_processes(3, [&](int rank) {
    ::setenv("RANK", std::to_string(rank).c_str(), 1);
    ::setenv("WORLD_SIZE", "3", 1);
    ::setenv("MASTER_ADDR", "127.0.0.1", 1);
    ::setenv("MASTER_PORT", "29500", 1);
    ::setenv("TORCHELASTIC_RUN_ID", run.c_str(), 1);
    auto boot = from_environment(make_knobs());
    if (boot->name() != "torchrun" || boot->rank() != rank || !gather_rounds(*boot, 3)) return 1;
    boot->leave();
    return 0;
  });
  for (const int status : statuses) EXPECT_EQ(status, 0);
}

TEST(Local, TwoJobsDoNotMix) {
  const std::string a = fresh_identity(), b = fresh_identity();
  const auto statuses = on_processes(4, [&](int i) {
    auto boot = meet_locally(place_of(i % 2, 2, i < 2 ? a : b), make_knobs());
    const Bytes mine{static_cast<std::byte>(i / 2)};
    return boot->allgather(mine) == Bytes(2, mine[0]) ? (boot->leave(), 0) : 1;
  });
  for (const int status : statuses) EXPECT_EQ(status, 0);
}

TEST(Local, TimesOutNamingWhoNeverCame) {
  const std::string identity = fresh_identity();
  const auto statuses = on_processes(2, [&](int i) {
    const int rank = i + 1;  // PE 0 never comes
    const std::uint64_t start = os::now_ns();
    const Error error = error_of([&] { meet_locally(place_of(rank, 4, identity), make_knobs(2 * kSecond)); });
    if (error.code() != Code::timeout || error.peer() != 0) return 1;
    return at_deadline(start, 2 * kSecond) ? 0 : 2;
  });
  for (const int status : statuses) EXPECT_EQ(status, 0);
  const std::string other = fresh_identity();
  const auto more = on_processes(2, [&](int i) {
    const int rank = i * 2;  // PEs 1 and 3 never come
    const std::uint64_t start = os::now_ns();
    const Error error = error_of([&] { meet_locally(place_of(rank, 4, other), make_knobs(2 * kSecond))->barrier(); });
    if (error.code() != Code::timeout || std::string(error.what()).find("PEs 1, 3 of 4") == std::string::npos) {
      ::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      return 1;
    }
    return at_deadline(start, 2 * kSecond) ? 0 : 2;
  });
  for (const int status : more) EXPECT_EQ(status, 0);
}

TEST(Local, WhoComesLateHearsThatOthersNeverCameThoughPeZeroIsGone) {
  const std::string identity = fresh_identity();
  const auto statuses = on_processes(2, [&](int rank) {
    // PE 1 would wait much longer than PE 0, whose process holds the root. PE 2 never comes.
    const std::uint64_t start = os::now_ns();
    const auto knobs = make_knobs(rank == 0 ? kSecond : 15 * kSecond);
    const Error error = error_of([&] { meet_locally(place_of(rank, 3, identity), knobs)->barrier(); });
    if (error.code() != Code::timeout || std::string(error.what()).find("PE 2 of 3") == std::string::npos) return 1;
    return seconds_since(start) < 3.0 ? 0 : 2;
  });
  for (const int status : statuses) EXPECT_EQ(status, 0);
}

TEST(Local, TheDeathOfPeZeroReleasesTheOthers) {
  const std::string identity = fresh_identity();
  const auto statuses = on_processes(3, [&](int rank) {
    auto boot = meet_locally(place_of(rank, 3, identity), make_knobs());
    const std::uint64_t start = os::now_ns();
    const Error error = error_of([&] {
      // PE 0 may take the root with it before the others have the first answer: then that one throws.
      boot->barrier();
      if (rank == 0) ::kill(::getpid(), SIGKILL);
      boot->barrier();
    });
    return error.code() == Code::peer_lost && error.peer() == 0 && seconds_since(start) < 2.0 ? 0 : 1;
  });
  EXPECT_TRUE(WIFSIGNALED(statuses[0]));
  EXPECT_EQ(statuses[1], 0);
  EXPECT_EQ(statuses[2], 0);
}

TEST(Local, ASecondPeZeroIsRefused) {
  const std::string identity = fresh_identity();
  // Two processes, since the count of meetings is per process. The first stays until the second was refused.
  int there[2], done[2];
  ASSERT_EQ(::pipe(there), 0);
  ASSERT_EQ(::pipe(done), 0);
  const auto statuses = on_processes(2, [&](int i) {
    char byte = 0;
    if (i == 0) {
      auto boot = meet_locally(place_of(0, 2, identity), make_knobs());
      if (::write(there[1], "x", 1) != 1 || ::read(done[0], &byte, 1) != 1) return 9;
      return 0;
    }
    if (::read(there[0], &byte, 1) != 1) return 9;
    const Code code = error_of([&] { meet_locally(place_of(0, 2, identity), make_knobs()); }).code();
    if (::write(done[1], "x", 1) != 1) return 9;
    return code == Code::bootstrap_failed ? 0 : 1;
  });
  for (const int fd : {there[0], there[1], done[0], done[1]}) ::close(fd);
  for (const int status : statuses) EXPECT_EQ(status, 0);
}

TEST(Launcher, AllWorldsOfAProcessShareTheControlSocket) {
  constexpr int kPes = 3;
  Star star(kPes);
  const auto statuses = on_processes(
      kPes,
      [&](int rank) {
        const int fd = star.take_end(rank).release();
        star.close_ends();
        ::fcntl(fd, F_SETFD, 0);  // inherited, as after exec
        runtime::Knobs knobs = make_knobs();
        knobs.control_fd = fd;
        knobs.rank = rank;
        knobs.size = kPes;
        {
          auto first = from_environment(knobs);
          if (first->name() != "launcher" || !gather_rounds(*first, 5)) return 1;
          if ((::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0) return 2;
          auto second = from_environment(knobs);
          if (!gather_rounds(*second, 5) || !gather_rounds(*first, 5)) return 3;
          first->leave();
          second->leave();
        }
        auto third = from_environment(knobs);
        if (!gather_rounds(*third, 5)) return 4;
        knobs.rank = (rank + 1) % kPes;
        if (error_of([&] { from_environment(knobs); }).code() != Code::invalid_argument) return 5;
        third->leave();
        return 0;
      },
      [&](const auto&) {
        star.close_ends();
        star.start();
      });
  for (const int status : statuses) EXPECT_EQ(status, 0);
  star.with([](StarServer& server) {
    server.handle();
    EXPECT_FALSE(server.notice());
    EXPECT_EQ(server.status(0).open_worlds, 0);
  });
}

TEST(Launcher, RefusesADescriptorThatIsNoSocket) {
  const auto statuses = on_processes(1, [&](int) {
    for (const int fd : {997, STDIN_FILENO, -1}) {
      if (fd == STDIN_FILENO) {
        const int file = ::open("/dev/null", O_RDONLY);
        ::dup2(file, STDIN_FILENO);
      }
      const Error error = error_of([&] { from_control_fd(0, 1, fd, make_knobs()); });
      if (error.code() != Code::invalid_argument) return 1;
      if (std::string(error.what()).find("ISOTOPE_CONTROL_FD is " + std::to_string(fd)) == std::string::npos) return 2;
    }
    return 0;
  });
  EXPECT_EQ(statuses[0], 0);
}

}  // namespace
}  // namespace isotope::bootstrap
