#include "job/output.hpp"

#include <algorithm>
#include <array>

#include "os/pipe.hpp"

namespace isotope::job {

namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr int kMaxFinalReads = 64;  // four times the largest pipe
constexpr int kWritesPerTurn = 64;  // then the other descriptors get their turn

std::string prefix_of(int rank, bool color) {
  const std::string tag = "[" + std::to_string(rank) + "]";
  if (!color) return tag + " ";
  // Neighbours differ; black, white and red are left out (background, text, errors).
  constexpr std::array<int, 10> kColors = {36, 33, 32, 35, 34, 96, 93, 92, 95, 94};
  return "\033[" + std::to_string(kColors[static_cast<std::size_t>(rank) % kColors.size()]) + "m" + tag + "\033[0m ";
}

}  // namespace

LineTagger::LineTagger(int rank, bool color) : prefix_(prefix_of(rank, color)) {}

void LineTagger::emit(std::string_view line, std::string& to) const {
  to += prefix_;
  to += line;
  to += '\n';
}

void LineTagger::take(std::string_view bytes, std::string& to) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end).substr(0, kMaxLine - partial_.size());
    partial_ += piece;
    bytes.remove_prefix(piece.size());
    if (!bytes.empty() && bytes.front() == '\n') {
      bytes.remove_prefix(1);
    } else if (partial_.size() < kMaxLine) {
      return;  // an unfinished line: the rest comes later
    }
    emit(partial_, to);
    partial_.clear();
  }
}

void LineTagger::finish(std::string& to) {
  if (!partial_.empty()) emit(partial_, to);
  partial_.clear();
}

TaggedOutput::TaggedOutput(bool color, int out, int err) : color_(color), sinks_{{out, {}}, {err, {}}} {}

void TaggedOutput::add(int rank, os::Fd out, os::Fd err) {
  streams_.push_back({std::move(out), 0, LineTagger(rank, color_)});
  streams_.push_back({std::move(err), 1, LineTagger(rank, color_)});
}

void TaggedOutput::say(std::string_view line) {
  if (sinks_[1].broken) return;
  sinks_[1].queue += line;
  sinks_[1].queue += '\n';
}

void TaggedOutput::watch(std::vector<os::PollEntry>& watched) {
  first_watched_ = watched.size();
  for (const Sink& sink : sinks_) watched.push_back({sink.waits() ? sink.fd : -1, os::kWritable});
  for (const Stream& stream : streams_) {
    const Sink& sink = sinks_[stream.sink];
    watched.push_back({sink.queue.size() - sink.written < kMaxQueue ? stream.fd.get() : -1, os::kReadable});
  }
}

bool TaggedOutput::react(const std::vector<os::PollEntry>& watched) {
  bool any = false;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].fd && watched[first_watched_ + 2 + i].ready) any |= read(streams_[i]);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    Sink& sink = sinks_[i];
    bool ready = watched[first_watched_ + i].ready;
    for (int writes = 0; ready && writes < kWritesPerTurn; ++writes) {
      write(sink);
      os::PollEntry more{sink.waits() ? sink.fd : -1, os::kWritable};
      os::poll_fds({&more, 1}, 0);
      ready = more.ready;
    }
  }
  return any;
}

bool TaggedOutput::read(Stream& stream) {
  std::string bytes;
  const os::ReadResult result = os::read_some(stream.fd.get(), bytes, kReadBytes);
  Sink& sink = sinks_[stream.sink];
  if (!sink.broken) stream.tagger.take(bytes, sink.queue);
  if (result == os::ReadResult::end) {
    if (!sink.broken) stream.tagger.finish(sink.queue);
    stream.fd.reset();
  }
  return result == os::ReadResult::data;
}

void TaggedOutput::write(Sink& sink) {
  const auto put = os::write_some(sink.fd, std::string_view(sink.queue).substr(sink.written));
  if (!put) {
    // The PEs learn of it as they would without us: their next write fails.
    sink.broken = true;
    sink.queue.clear();
    sink.written = 0;
    for (Stream& stream : streams_) {
      if (&sinks_[stream.sink] == &sink) stream.fd.reset();
    }
    return;
  }
  sink.written += *put;
  if (!sink.waits()) {
    sink.queue.clear();
    sink.written = 0;
  } else if (sink.written > kMaxQueue) {
    sink.queue.erase(0, sink.written);
    sink.written = 0;
  }
}

void TaggedOutput::finish() {
  for (Stream& stream : streams_) {
    // Somebody outside the job may hold the other end open for ever: what is there now is all we wait for.
    for (int reads = 0; reads < kMaxFinalReads && stream.fd && read(stream); ++reads) {
    }
    Sink& sink = sinks_[stream.sink];
    if (!sink.broken) stream.tagger.finish(sink.queue);
    stream.fd.reset();
  }
}

bool TaggedOutput::pending() const {
  return std::any_of(std::begin(sinks_), std::end(sinks_), [](const Sink& sink) { return sink.waits(); });
}

void TaggedOutput::drop() {
  for (Sink& sink : sinks_) sink.queue.clear(), sink.written = 0;
}

}  // namespace isotope::job
