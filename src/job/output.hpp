// The launcher's merge of its PEs' output: whole lines, each with its PE in front.
//
// It lives in the supervisor's poll loop and never blocks: not on a PE that writes slowly, nor on a terminal or pipe
// that reads slowly. While the reader is behind, the PEs' pipes fill up and hold the PEs back, as they would without
// us.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "os/fd.hpp"
#include "os/poll.hpp"

namespace isotope::job {

/// Cuts a byte stream into lines with a prefix each.
class LineTagger {
 public:
  /// A longer line goes out in pieces of this size, so that a PE that never ends its line cannot fill our memory.
  static constexpr std::size_t kMaxLine = 256 * 1024;

  LineTagger(int rank, bool color);
  /// Takes bytes and appends the lines they complete to `to`.
  void take(std::string_view bytes, std::string& to);
  /// The stream is over: a last line without an end gets one.
  void finish(std::string& to);

 private:
  void emit(std::string_view line, std::string& to) const;
  std::string prefix_;
  std::string partial_;
};

class TaggedOutput {
 public:
  /// `out` and `err` are where the lines go: 1 and 2 but for tests.
  explicit TaggedOutput(bool color, int out = 1, int err = 2);

  /// A PE's pipes; they must not block.
  void add(int rank, os::Fd out, os::Fd err);
  /// A line of the launcher's own on standard error, in order with the PEs'.
  void say(std::string_view line);

  /// Appends what to wait for; after the wait, react() gets the same vector.
  void watch(std::vector<os::PollEntry>& watched);
  /// True when a PE had written something.
  bool react(const std::vector<os::PollEntry>& watched);

  /// All PEs have ended: reads what is left in the pipes and ends every line.
  void finish();
  /// Something waits for the reader.
  bool pending() const;
  /// Gives up on a reader that does not read.
  void drop();

 private:
  struct Sink {
    int fd;
    std::string queue;
    std::size_t written = 0;  // of the queue
    bool broken = false;      // nobody reads any more
    bool waits() const { return written < queue.size(); }
  };
  struct Stream {
    os::Fd fd;
    std::size_t sink;
    LineTagger tagger;
  };
  bool read(Stream& stream);
  void write(Sink& sink);

  static constexpr std::size_t kMaxQueue = 1024 * 1024;
  bool color_;
  Sink sinks_[2];
  std::vector<Stream> streams_;
  std::size_t first_watched_ = 0;
};

}  // namespace isotope::job
