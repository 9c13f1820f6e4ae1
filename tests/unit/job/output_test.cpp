// The merge of the PEs' output into tagged lines.
#include "job/output.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

#include "os/pipe.hpp"

namespace isotope::job {
namespace {

TEST(LineTagger, PrefixesWholeLinesHoweverTheyArrive) {
  LineTagger tagger(3, false);
  std::string out;
  tagger.take("one\ntw", out);
  EXPECT_EQ(out, "[3] one\n");
  tagger.take("o\n\nthree", out);
  EXPECT_EQ(out, "[3] one\n[3] two\n[3] \n");
  tagger.finish(out);
  EXPECT_EQ(out, "[3] one\n[3] two\n[3] \n[3] three\n");
  tagger.finish(out);
  EXPECT_EQ(out, "[3] one\n[3] two\n[3] \n[3] three\n");
}

TEST(LineTagger, CutsALineThatNeverEnds) {
  LineTagger tagger(0, false);
  std::string out;
  const std::string flood(LineTagger::kMaxLine * 2 + 5, 'x');
  for (std::size_t at = 0; at < flood.size(); at += 1000) tagger.take(std::string_view(flood).substr(at, 1000), out);
  const std::string piece = "[0] " + std::string(LineTagger::kMaxLine, 'x') + "\n";
  EXPECT_EQ(out.size(), 2 * piece.size());
  EXPECT_EQ(out, piece + piece);
  tagger.take("\n", out);
  EXPECT_EQ(out, piece + piece + "[0] xxxxx\n");
}

TEST(LineTagger, ColoursDiffer) {
  std::string zero, one;
  LineTagger(0, true).take("a\n", zero);
  LineTagger(1, true).take("a\n", one);
  EXPECT_EQ(zero, "\033[36m[0]\033[0m a\n");
  EXPECT_NE(zero.substr(0, 5), one.substr(0, 5));
}

/// Turns the loop until nothing waits any more.
void settle(TaggedOutput& output) {
  output.finish();
  for (int turns = 0; output.pending() && turns < 10'000; ++turns) {
    std::vector<os::PollEntry> watched;
    output.watch(watched);
    os::poll_fds(watched, 1000);
    output.react(watched);
  }
}

std::string read_all(int fd) {
  std::string all;
  while (os::read_some(fd, all, 65536) == os::ReadResult::data) {
  }
  return all;
}

TEST(TaggedOutput, KeepsStreamsApartAndDrainsWhatTheDeadLeft) {
  os::Pipe to_out = os::make_pipe(), to_err = os::make_pipe();
  TaggedOutput output(false, to_out.write.get(), to_err.write.get());
  for (int rank = 0; rank < 2; ++rank) {
    os::Pipe out = os::make_pipe(), err = os::make_pipe();
    const std::string line = "o" + std::to_string(rank) + "\nlast";
    ASSERT_EQ(::write(out.write.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
    ASSERT_EQ(::write(err.write.get(), "e\n", 2), 2);
    output.add(rank, std::move(out.read), std::move(err.read));
  }
  settle(output);
  EXPECT_EQ(read_all(to_out.read.get()), "[0] o0\n[0] last\n[1] o1\n[1] last\n");
  EXPECT_EQ(read_all(to_err.read.get()), "[0] e\n[1] e\n");
}

TEST(TaggedOutput, AReaderThatIsBehindHoldsThePesBackAndNotUs) {
  os::Pipe to_out = os::make_pipe(), to_err = os::make_pipe();
  TaggedOutput output(false, to_out.write.get(), to_err.write.get());
  os::Pipe out = os::make_pipe(), err = os::make_pipe();
  const int pe = out.write.get();
  output.add(0, std::move(out.read), std::move(err.read));
  // Nobody reads to_out. A PE that writes 16 MiB must come to a stop long before; every turn of ours must return.
  std::thread writer([pe] {
    const std::string line(1023, 'y');
    for (int i = 0; i < 16 * 1024; ++i) {
      if (::write(pe, (line + "\n").data(), 1024) != 1024) return;
    }
  });
  const auto turn_once = [&](int wait_ms) {
    std::vector<os::PollEntry> watched;
    output.watch(watched);
    os::poll_fds(watched, wait_ms);
    output.react(watched);
  };
  // Full only when it stays so: at first the pipe still takes what the writer brings.
  for (int turn = 0, behind = 0; turn < 100'000 && behind < 200; ++turn) {
    turn_once(1);
    behind = output.pending() ? behind + 1 : 0;
  }
  EXPECT_TRUE(output.pending());
  // Once it reads again, every byte arrives.
  std::size_t lines = 0, bytes = 0;
  for (int turn = 0; turn < 1'000'000 && lines < 16 * 1024; ++turn) {
    turn_once(10);
    const std::string got = read_all(to_out.read.get());
    lines += static_cast<std::size_t>(std::count(got.begin(), got.end(), '\n'));
    bytes += got.size();
  }
  writer.join();
  EXPECT_EQ(lines, 16u * 1024);
  EXPECT_EQ(bytes, 16u * 1024 * (1024 + 4));
}

TEST(TaggedOutput, WhenNobodyReadsThePesLearnOfIt) {
  ASSERT_NE(::signal(SIGPIPE, SIG_IGN), SIG_ERR);
  os::Pipe to_out = os::make_pipe(), to_err = os::make_pipe();
  TaggedOutput output(false, to_out.write.get(), to_err.write.get());
  os::Pipe out = os::make_pipe(), err = os::make_pipe();
  output.add(0, std::move(out.read), std::move(err.read));
  to_out.read.reset();
  ASSERT_EQ(::write(out.write.get(), "lost\n", 5), 5);
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<os::PollEntry> watched;
    output.watch(watched);
    os::poll_fds(watched, 1000);
    output.react(watched);
  }
  EXPECT_EQ(::write(out.write.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  EXPECT_FALSE(output.pending());
  ::signal(SIGPIPE, SIG_DFL);
}

}  // namespace
}  // namespace isotope::job
