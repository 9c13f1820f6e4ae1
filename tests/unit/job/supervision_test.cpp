// Signals, orphans, and processes that do not want to end.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "unit/job/job_support.hpp"

namespace isotope::job::test {
namespace {

int exit_code_of(pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

JobOptions forwarding(int pes) {
  JobOptions options = quick(pes);
  options.forward_signals = true;
  return options;
}

TEST(Signals, AreForwardedToEveryPe) {
  const Orphanage orphanage;
  Channel channel;
  const std::string script =
      "trap 'echo got" + channel.to() + "; exit 0' USR1; echo ready" + channel.to() + "; while :; do sleep 0.05; done";
  const pid_t launcher = fork_launcher([&] { return run_program(forwarding(3), {"sh", "-c", script}).exit_code; });
  ASSERT_EQ(channel.read_lines(3), "ready\nready\nready\n");
  ::kill(launcher, SIGUSR1);
  EXPECT_EQ(channel.read_lines(3), "got\ngot\ngot\n");
  EXPECT_EQ(exit_code_of(launcher), 0);
  EXPECT_TRUE(Orphanage::empty_within(2s));
}

TEST(Signals, AnInterruptThatEndsThePesGives130) {
  const Orphanage orphanage;
  Channel channel;
  const pid_t launcher = fork_launcher([&] {
    return run_processes(forwarding(3),
                         [&] {
                           ::signal(SIGINT, SIG_DFL);
                           if (::write(channel.write_end, "ready\n", 6) != 6) return 1;
                           return sit();
                         })
        .exit_code;
  });
  ASSERT_EQ(channel.read_lines(3), "ready\nready\nready\n");
  ::kill(launcher, SIGINT);
  EXPECT_EQ(exit_code_of(launcher), 130);
  EXPECT_TRUE(Orphanage::empty_within(2s));
}

TEST(Signals, ASecondOneKillsAtOnce) {
  const Orphanage orphanage;
  Channel channel;
  const pid_t launcher = fork_launcher([&] {
    JobOptions options = forwarding(3);
    options.terminate_grace = 30s;
    return run_program(options, {"sh", "-c",
                                 "trap 'echo got" + channel.to() + "' TERM; echo ready" + channel.to() +
                                     "; while :; do sleep 0.05; done"})
        .exit_code;
  });
  ASSERT_EQ(channel.read_lines(3), "ready\nready\nready\n");
  ::kill(launcher, SIGTERM);
  ASSERT_EQ(channel.read_lines(3), "got\ngot\ngot\n");
  const Stopwatch watch;
  ::kill(launcher, SIGTERM);
  EXPECT_EQ(exit_code_of(launcher), 128 + SIGTERM);
  EXPECT_LE(watch.seconds(), kSoon);
  EXPECT_TRUE(Orphanage::empty_within(2s));
}

TEST(Signals, TheCallersMaskIsPutBack) {
  sigset_t before, after;
  ::sigprocmask(SIG_SETMASK, nullptr, &before);
  const JobResult result = run_processes(forwarding(2), [&] {
    sigset_t mine;
    ::sigprocmask(SIG_SETMASK, nullptr, &mine);
    return sigismember(&mine, SIGINT) == sigismember(&before, SIGINT) ? 0 : 1;
  });
  EXPECT_EQ(result.exit_code, 0);
  ::sigprocmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&before, SIGINT), sigismember(&after, SIGINT));
}

TEST(Progress, IsOneLineOnATerminalThatErasesItself) {
  const Orphanage orphanage;
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::grantpt(terminal), 0);
  ASSERT_EQ(::unlockpt(terminal), 0);
  const int other_end = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  ASSERT_GE(other_end, 0);
  const pid_t launcher = fork_launcher([&] {
    ::dup2(other_end, 2);
    JobOptions options = quick(3);
    options.progress = true;
    return run_processes(options,
                         [] {
                           if (my_rank() == 2)
                             ::usleep(900'000);  // longer than the half second after which the line shows
                           auto here = join();
                           here->barrier();
                           here->leave();
                           return 0;
                         })
        .exit_code;
  });
  EXPECT_EQ(exit_code_of(launcher), 0);
  char buffer[4096];
  const ssize_t got = ::read(terminal, buffer, sizeof buffer);
  ASSERT_GT(got, 0) << "no line was shown";
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(got)), "\r\033[Kstarting 3 PEs: 2 joined\r\033[K");
  ::close(other_end);
  ::close(terminal);
}

TEST(Orphans, WhatAWrapperLeftRunningIsKilledWithTheJob) {
  const Orphanage orphanage;
  Channel channel;
  const JobResult result = run_program(quick(3), {"sh", "-c", "sleep 1000 & echo started" + channel.to() + "; exit 0"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(channel.read_lines(3), "started\nstarted\nstarted\n");
  EXPECT_TRUE(Orphanage::empty_within(2s));
}

TEST(Orphans, AFailedJobEndsWhatWrappersStarted) {
  const Orphanage orphanage;
  const Stopwatch watch;
  const JobResult result =
      run_program(quick(3), {"sh", "-c", "[ $ISOTOPE_RANK = 1 ] && exit 9; trap '' TERM; sleep 1000; sleep 1000"});
  EXPECT_EQ(result.exit_code, 9);
  EXPECT_LE(watch.seconds(), kSoon);
  EXPECT_TRUE(Orphanage::empty_within(2s));
}

TEST(Orphans, NoneWhenTheLauncherIsKilled) {
  const Orphanage orphanage;
  for (int i = 0; i < 10; ++i) {
    Channel channel;
    // The shells die with the launcher by the kernel's hand; what they started does not.
    const pid_t launcher = fork_launcher([&] {
      return run_program(quick(3), {"sh", "-c", "sleep 1000 & echo up" + channel.to() + "; wait"}).exit_code;
    });
    ASSERT_EQ(channel.read_lines(3), "up\nup\nup\n");
    ::kill(launcher, SIGKILL);
    // Everything below us: launcher, guard, shells, sleeps.
    ASSERT_TRUE(Orphanage::empty_within(5s));
  }
}

TEST(Orphans, NoneWhenTheLauncherIsKilledWhileItStarts) {
  const Orphanage orphanage;
  for (int i = 0; i < 20; ++i) {
    const pid_t launcher =
        fork_launcher([] { return run_program(quick(8), {"sh", "-c", "sleep 1000 & wait"}).exit_code; });
    ::usleep(static_cast<useconds_t>(i) * 400);  // a different moment each time
    ::kill(launcher, SIGKILL);
    ASSERT_TRUE(Orphanage::empty_within(5s)) << i;
  }
}

TEST(Orphans, ForkedPesDieWithTheLauncherToo) {
  const Orphanage orphanage;
  Channel channel;
  const pid_t launcher = fork_launcher([&] {
    return run_processes(quick(3), [&] { return ::write(channel.write_end, "up\n", 3) == 3 ? sit() : 1; }).exit_code;
  });
  ASSERT_EQ(channel.read_lines(3), "up\nup\nup\n");
  ::kill(launcher, SIGKILL);
  EXPECT_TRUE(Orphanage::empty_within(5s));
}

TEST(Orphans, TheGuardIsGoneAfterAJob) {
  const Orphanage orphanage;
  run_processes(quick(2), [] { return 0; });
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Secrets, NothingOfTheJobIsOnACommandLine) {
  Channel channel;
  const std::string script = "tr '\\0' '|' </proc/$$/cmdline" + channel.to() + "; echo" + channel.to();
  ASSERT_EQ(run_program(quick(1), {"sh", "-c", script}).exit_code, 0);
  EXPECT_EQ(channel.read_lines(1), "sh|-c|" + script + "|\n");
}

TEST(Unkillable, IsNamedAndNotWaitedForLonger) {
  // A process whose tracer does not wait for it stays as it is after SIGKILL, as far as its parent can see: the closest
  // a test comes to one that the kernel cannot end.
  const Orphanage orphanage;
  Channel channel;
  const Stopwatch watch;
  const JobResult result = run_processes(quick(2), [&] {
    if (my_rank() == 0) {
      // Fails only once the other one is traced, so that the times below are those of its end.
      return channel.read_lines(1) == "traced\n" ? 4 : 5;
    }
    const pid_t traced = ::getpid();
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (::fork() == 0) {
      ::setsid();
      ::alarm(30);
      const bool ok = ::ptrace(PTRACE_SEIZE, traced, nullptr, nullptr) == 0;
      if (::write(channel.write_end, ok ? "traced\n" : "no\n", ok ? 7 : 3) < 0) return 1;
      channel.close_write();
      for (;;) ::pause();
    }
    return sit();
  });
  if (result.exit_code == 5) {
    Orphanage::empty_within(0s);
    GTEST_SKIP() << "this system lets nobody trace";
  }
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_TRUE(result.pes[1].abandoned);
  EXPECT_FALSE(result.pes[0].abandoned);
  EXPECT_NE(result.message.find("gave up on PE 1 (pid " + std::to_string(result.pes[1].pid) + ")"), std::string::npos)
      << result.message;
  EXPECT_GE(watch.seconds(), 5.4);
  EXPECT_LE(watch.seconds(), 5.4 + kSoon);  // two graces and five seconds
  // The tracer is the only one left. Its end lets the PE go.
  std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  for (pid_t child; children >> child;) {
    if (child != result.pes[1].pid) ::kill(child, SIGKILL);
  }
  EXPECT_TRUE(Orphanage::empty_within(2s));
}

}  // namespace
}  // namespace isotope::job::test
