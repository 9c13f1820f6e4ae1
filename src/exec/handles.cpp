// The public handles Stream and Event over StreamQueue.
#include "exec/event.hpp"
#include "exec/exec.hpp"
#include "isotope/base/error.hpp"
#include "isotope/host/stream.hpp"

namespace isotope {

namespace {

exec::StreamQueue& checked(const std::shared_ptr<exec::StreamQueue>& queue, const char* call) {
  if (queue) return *queue;
  throw Error(Code::invalid_argument,
              std::string("Stream::") + call +
                  " on an empty Stream, which names the default stream of whichever World it is passed to; "
                  "use world.stream() for that stream itself");
}

}  // namespace

bool Event::finished() const { return !state_ || state_->finished(); }

void Event::synchronize() const {
  if (!finished()) state_->synchronize();
}

Event Stream::record() const { return Event(checked(queue_, "record").record()); }

void Stream::wait(const Event& event) const {
  auto& queue = checked(queue_, "wait");
  if (event.state_) queue.wait(event.state_);
}

void Stream::call(std::function<void()> fn) const { checked(queue_, "call").call(std::move(fn)); }

bool Stream::idle() const { return checked(queue_, "idle").idle(); }

void Stream::synchronize() const { checked(queue_, "synchronize").synchronize(); }

}  // namespace isotope
