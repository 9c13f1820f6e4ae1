// Jobs that end: codes, messages, times. PEs are forked from the test, or shells.
#include "isotope/host/job.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "unit/job/job_support.hpp"

namespace isotope::job::test {
namespace {

TEST(Job, EveryPeRunsAndTheCodeIsZero) {
  for (const int pes : {1, 2, 3, 5, 8}) {
    Channel channel;
    const JobResult result = run_processes(quick(pes), [&] {
      const std::string line = std::string(std::getenv("ISOTOPE_RANK")) + "/" + std::getenv("ISOTOPE_SIZE") + "\n";
      return ::write(channel.write_end, line.data(), line.size()) > 0 ? 0 : 1;
    });
    EXPECT_EQ(result.exit_code, 0) << result.message;
    EXPECT_EQ(result.first_failed, -1);
    EXPECT_EQ(result.message, "");
    EXPECT_EQ(result.pes.size(), static_cast<std::size_t>(pes));
    const std::string lines = channel.read_lines(pes);
    for (int rank = 0; rank < pes; ++rank) {
      EXPECT_NE(lines.find(std::to_string(rank) + "/" + std::to_string(pes) + "\n"), std::string::npos) << lines;
    }
  }
}

TEST(Job, ManyInARowLeaveNothingBehind) {
  const auto descriptors = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
  const auto before = descriptors();
  for (int i = 0; i < 50; ++i) {
    const JobResult result = run_processes(quick(3), [] {
      auto here = join();
      here->barrier();
      here->leave();
      return 0;
    });
    ASSERT_EQ(result.exit_code, 0) << result.message;
    ASSERT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child was left";
  }
  EXPECT_EQ(descriptors(), before);
}

TEST(Job, TheFirstFailingPesStatusIsTheJobs) {
  const Stopwatch watch;
  const JobResult result = run_processes(quick(4), [] { return my_rank() == 2 ? 7 : sit(); });
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.first_failed, 2);
  EXPECT_EQ(result.message, "PE 2 (pid " + std::to_string(result.pes[2].pid) + ") exited with status 7");
  for (const int rank : {0, 1, 3}) EXPECT_EQ(result.pes[static_cast<std::size_t>(rank)].signal, SIGTERM);
  EXPECT_GE(watch.seconds(), 0.2);  // the grace
  EXPECT_LE(watch.seconds(), kSoon);
}

TEST(Job, AKilledPeGives128PlusSignal) {
  for (const int signal : {SIGKILL, SIGSEGV, SIGABRT}) {
    const JobResult result = run_processes(quick(3), [&] {
      ::signal(signal, SIG_DFL);
      if (my_rank() == 1) ::raise(signal);
      return sit();
    });
    EXPECT_EQ(result.exit_code, 128 + signal);
    EXPECT_EQ(result.first_failed, 1);
    EXPECT_FALSE(result.pes[1].exited);
    EXPECT_EQ(result.pes[1].signal, signal);
  }
}

TEST(Job, SurvivorsInACollectiveAreReleasedAndTheDeadPeIsBlamed) {
  // The survivors exit with an error of their own at once: the cause must still be told from its consequences.
  for (int i = 0; i < 20; ++i) {
    const Stopwatch watch;
    const JobResult result = run_processes(quick(4), [] {
      auto here = join();
      here->barrier();
      if (my_rank() == 3) ::raise(SIGKILL);
      try {
        here->barrier();
      } catch (const Error& error) {
        if (error.code() == Code::peer_lost && error.peer() == 3) return 40;
        std::fprintf(stderr, "PE %d: expected that PE 3 is lost: %s\n", my_rank(), error.what());
        return 41;
      }
      return 0;
    });
    EXPECT_EQ(result.exit_code, 137) << result.message;
    EXPECT_EQ(result.first_failed, 3);
    for (const std::size_t rank : {0, 1, 2}) EXPECT_EQ(result.pes[rank].status, 40) << rank;
    EXPECT_LE(watch.seconds(), kSoon);
  }
}

TEST(Job, ExitZeroWithoutLeavingIsAFailure) {
  const JobResult result = run_processes(quick(3), [] {
    auto here = join();
    here->barrier();
    if (my_rank() == 2) ::_exit(0);
    try {
      here->barrier();
    } catch (const Error&) {
      return 9;
    }
    return 0;
  });
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.first_failed, 2);
  EXPECT_NE(result.message.find("exited with status 0 without leaving the job (its World was never destroyed)"),
            std::string::npos)
      << result.message;
}

TEST(Job, APeThatNeverJoinsWhileOthersWaitIsNamed) {
  const JobResult result = run_processes(quick(3), [] {
    if (my_rank() == 1) return 0;
    try {
      join()->barrier();
    } catch (const Error& error) {
      return error.code() == Code::peer_lost ? 9 : 8;
    }
    return 0;
  });
  EXPECT_EQ(result.exit_code, 1) << result.message;
  EXPECT_EQ(result.first_failed, 1);
  EXPECT_NE(result.message.find("PE 1"), std::string::npos) << result.message;
}

TEST(Job, OnePeMayEndWellBeforeTheOthers) {
  const JobResult result = run_processes(quick(3), [] {
    auto here = join();
    here->barrier();
    here->leave();
    if (my_rank() != 0) ::usleep(50'000);
    return 0;
  });
  EXPECT_EQ(result.exit_code, 0) << result.message;
}

TEST(Job, GlobalExitEndsEveryPeWithItsCode) {
  for (const int code : {0, 5}) {
    const Stopwatch watch;
    const JobResult result = run_processes(quick(4), [&] {
      auto here = join();
      here->barrier();
      if (my_rank() == 1) {
        here->abort({Code::exited, 1, -1, code, "global_exit"});
        ::_exit(code);
      }
      try {
        here->barrier();
      } catch (const Error& error) {
        ::_exit(error.code() == Code::exited ? code : 77);
      }
      return 78;
    });
    EXPECT_EQ(result.exit_code, code) << result.message;
    EXPECT_EQ(result.first_failed, code == 0 ? -1 : 1);
    EXPECT_EQ(result.message, code == 0 ? "" : "PE 1 called global_exit(5)");
    for (const PeResult& pe : result.pes) EXPECT_EQ(pe.status, code);
    EXPECT_LE(watch.seconds(), kSoon);
  }
}

TEST(Job, GlobalExitAlsoEndsPesThatDoNotListen) {
  const Stopwatch watch;
  const JobResult result = run_processes(quick(3), [] {
    if (my_rank() != 0) return sit();
    auto here = join();
    here->abort({Code::exited, 0, -1, 0, "global_exit"});
    ::_exit(0);
  });
  EXPECT_EQ(result.exit_code, 0) << result.message;
  EXPECT_LE(watch.seconds(), kSoon);
}

TEST(Job, AbortNamesThePeAndItsReason) {
  const JobResult result = run_processes(quick(3), [] {
    auto here = join();
    here->barrier();
    if (my_rank() == 1) {
      here->abort({Code::aborted, 1, -1, 0, "no convergence"});
      ::usleep(50'000);  // the others fail before this one does
      return 33;
    }
    try {
      here->barrier();
    } catch (const Error& error) {
      return error.code() == Code::aborted ? 4 : 5;
    }
    return 0;
  });
  EXPECT_EQ(result.exit_code, 33);
  EXPECT_EQ(result.first_failed, 1);
  EXPECT_EQ(result.message, "PE 1 ended the job (aborted): no convergence");
  EXPECT_EQ(result.pes[0].status, 4);
}

TEST(Job, TheTimeoutNamesWhoStillRuns) {
  JobOptions options = quick(4);
  options.timeout = 400ms;
  const Stopwatch watch;
  const JobResult result = run_processes(options, [] { return my_rank() == 2 ? 0 : sit(); });
  EXPECT_GE(watch.seconds(), 0.4);
  EXPECT_LE(watch.seconds(), kSoon);
  EXPECT_EQ(result.exit_code, 124);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.message, "the job's timeout of 400 ms is over; still running: PEs 0, 1, 3");
}

TEST(Job, AtTheTimeoutPesInACollectiveSayWhatHappened) {
  JobOptions options = quick(2);
  options.timeout = 300ms;
  const JobResult result = run_processes(options, [] {
    auto here = join();
    here->barrier();
    if (my_rank() == 1) return sit();
    try {
      here->barrier();
    } catch (const Error& error) {
      return error.code() == Code::timeout ? 50 : 51;
    }
    return 0;
  });
  EXPECT_EQ(result.exit_code, 124);
  EXPECT_EQ(result.pes[0].status, 50);
}

TEST(Job, ATimeoutThatIsNotReachedChangesNothing) {
  JobOptions options = quick(2);
  options.timeout = 30s;
  const Stopwatch watch;
  const JobResult result = run_processes(options, [] { return 0; });
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_FALSE(result.timed_out);
  EXPECT_LE(watch.seconds(), kSoon);
}

TEST(Job, SigkillEndsWhoIgnoresSigterm) {
  const Stopwatch watch;
  const JobResult result = run_processes(quick(3), [] {
    if (my_rank() == 0) return 3;
    ::signal(SIGTERM, SIG_IGN);
    return sit();
  });
  EXPECT_EQ(result.exit_code, 3);
  // A PE may be signalled before it ignores SIGTERM only if the grace was over by then, which takes longer than a fork.
  EXPECT_EQ(result.pes[1].signal, SIGKILL);
  EXPECT_EQ(result.pes[2].signal, SIGKILL);
  EXPECT_GE(watch.seconds(), 0.4);
  EXPECT_LE(watch.seconds(), kSoon);
}

TEST(Job, AStoppedPeIsEndedToo) {
  const JobResult result = run_processes(quick(2), [] {
    if (my_rank() == 0) {
      ::raise(SIGSTOP);
      return 0;
    }
    return 3;
  });
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.pes[0].pid, 0);
}

TEST(Job, AnEscapingExceptionIsPrintedAndGivesOne) {
  testing::internal::CaptureStderr();
  const JobResult result = run_processes(quick(2), []() -> int {
    if (my_rank() == 1) throw Error(Code::invalid_argument, "such a pity");
    return 0;
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "PE 1: such a pity\n");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.first_failed, 1);
}

TEST(Job, TheMessageIsPrintedOnceUnlessQuiet) {
  JobOptions options = quick(3);
  options.quiet = false;
  testing::internal::CaptureStderr();
  const JobResult result = run_processes(options, [] { return my_rank() == 0 ? 2 : sit(); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "isotope: " + result.message + "\n");
}

TEST(Job, WorksWhenTheCallerIgnoresItsChildren) {
  ::signal(SIGCHLD, SIG_IGN);
  const JobResult result = run_processes(quick(2), [] {
    // What the caller had chosen is what a PE finds.
    struct sigaction now{};
    ::sigaction(SIGCHLD, nullptr, &now);
    return now.sa_handler == SIG_IGN ? 6 : 7;
  });
  struct sigaction after{};
  ::sigaction(SIGCHLD, nullptr, &after);
  ::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
}

TEST(Job, RefusesOptionsThatMakeNoSense) {
  const auto refused = [](const JobOptions& options) {
    try {
      run_processes(options, [] { return 0; });
    } catch (const Error& error) {
      return error.code() == Code::invalid_argument;
    }
    return false;
  };
  JobOptions options;
  for (const int pes : {0, -1, kMaxPes + 1}) {
    options.pes = pes;
    EXPECT_TRUE(refused(options)) << pes;
  }
  options = {};
  options.timeout = -1s;
  EXPECT_TRUE(refused(options));
  options = {};
  options.env = {{"ISOTOPE_SIZE", "9"}};
  EXPECT_TRUE(refused(options));
}

TEST(Program, RunsWithItsArgumentsAndEnvironment) {
  Channel channel;
  JobOptions options = quick(2);
  options.env = {{"GREETING", "hello world"}};
  const JobResult result =
      run_program(options, {"sh", "-c", "echo \"$GREETING $1 $ISOTOPE_RANK\"" + channel.to(), "sh", "a b"});
  EXPECT_EQ(result.exit_code, 0);
  const std::string lines = channel.read_lines(2);
  EXPECT_NE(lines.find("hello world a b 0\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find("hello world a b 1\n"), std::string::npos) << lines;
}

TEST(Program, HoldsNoDescriptorButItsOwn) {
  Channel channel;
  // Beyond 0, 1, 2, the control socket and what the test itself handed on, a PE must have nothing open. `ls` opens one
  // more.
  const std::string count = "ls /proc/self/fd | wc -l" + channel.to();
  ASSERT_EQ(std::system(count.c_str()), 0);
  const int without = std::atoi(channel.read_lines(1).c_str());
  JobOptions options = quick(5);
  options.tag_output = true;
  ASSERT_EQ(run_program(options, {"sh", "-c", count}).exit_code, 0);
  const std::string expected = std::to_string(without + 1) + "\n";
  EXPECT_EQ(channel.read_lines(5), expected + expected + expected + expected + expected);
}

TEST(Program, TheFirstPeReadsTheLaunchersInputAndTheOthersNothing) {
  Channel channel, input;
  ASSERT_EQ(::write(input.write_end, "word\n", 5), 5);
  input.close_write();
  const pid_t launcher = fork_launcher([&] {
    ::dup2(input.read_end, 0);
    return run_program(quick(2), {"sh", "-c", "read x; echo $ISOTOPE_RANK=$x" + channel.to()}).exit_code;
  });
  int status = 0;
  ASSERT_EQ(::waitpid(launcher, &status, 0), launcher);
  const std::string lines = channel.read_lines(2);
  EXPECT_NE(lines.find("0=word\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find("1=\n"), std::string::npos) << lines;
}

TEST(Program, RefusesWhatCannotBeRun) {
  char folder[] = "/tmp/isotope-job-test-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string plain = std::string(folder) + "/plain", text = std::string(folder) + "/text",
                    lost = std::string(folder) + "/lost";
  const auto write = [](const std::string& path, const char* content, mode_t mode) {
    const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY, mode);
    EXPECT_EQ(::write(fd, content, std::strlen(content)), static_cast<ssize_t>(std::strlen(content)));
    ::close(fd);
  };
  write(plain, "#!/bin/sh\n", 0644);
  write(text, "just words", 0755);
  write(lost, "#!/nonexistent/interpreter\n", 0755);
  const auto refusal = [](const std::vector<std::string>& argv) -> std::string {
    try {
      run_program(quick(2), argv);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      return error.what();
    }
    return "ran";
  };
  EXPECT_NE(refusal({"no-such-program-anywhere"}).find("'no-such-program-anywhere' not found on PATH"),
            std::string::npos);
  EXPECT_NE(refusal({"/no/such/file"}).find("there is no such file"), std::string::npos);
  EXPECT_NE(refusal({folder}).find("is a folder"), std::string::npos);
  EXPECT_NE(refusal({plain}).find("is not executable"), std::string::npos);
  EXPECT_NE(refusal({text}).find("#!"), std::string::npos) << refusal({text});
  EXPECT_NE(refusal({lost}).find("interpreter"), std::string::npos) << refusal({lost});
  EXPECT_NE(refusal({""}).find("empty"), std::string::npos);
  EXPECT_NE(refusal({}).find("no program"), std::string::npos);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child was left";
  std::filesystem::remove_all(folder);
}

TEST(Program, ThreadsNeedIsotopeMain) {
  const auto refusal = [](const std::string& program) -> std::string {
    try {
      run_program_threads(quick(2), {program});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::not_supported);
      return error.what();
    }
    return "ran";
  };
  const std::string plain = refusal("ls");
  EXPECT_NE(plain.find("'ls'"), std::string::npos) << plain;
  EXPECT_NE(plain.find("ISOTOPE_MAIN"), std::string::npos) << plain;
  char script[] = "/tmp/isotope-job-test-XXXXXX";
  const int fd = ::mkstemp(script);
  ASSERT_EQ(::write(fd, "#!/bin/sh\n", 10), 10);
  ::fchmod(fd, 0755);
  ::close(fd);
  EXPECT_NE(refusal(script).find("script"), std::string::npos);
  ::unlink(script);
}

}  // namespace
}  // namespace isotope::job::test
