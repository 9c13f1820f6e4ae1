// Helpers of a job are found by name and environment among processes that come and go.
#include "os/private_folder.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

namespace isotope::os {
namespace {

TEST(KillProcesses, ProcessesThatEndWhileTheyAreLookedAtArePassedOver) {
  const pid_t spawner = ::fork();
  ASSERT_GE(spawner, 0);
  if (spawner == 0) {
    ::alarm(30);
    for (;;) {
      for (int i = 0; i < 8; ++i) {
        if (::fork() == 0) ::_exit(0);
      }
      while (::waitpid(-1, nullptr, 0) > 0) {
      }
    }
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < end && !HasFailure()) {
    EXPECT_NO_THROW(EXPECT_EQ(kill_processes("no-such-name", "NO=SUCH_ENTRY"), 0U));
  }
  ::kill(spawner, SIGKILL);
  EXPECT_EQ(::waitpid(spawner, nullptr, 0), spawner);
}

}  // namespace
}  // namespace isotope::os
