// The all-gathers of one World, as a state machine without sockets, threads or clocks: who posted, who gave up, who
// left.
//
// The star server runs one per World, the thread bootstrap one per job. Not thread-safe: the owner locks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/wire.hpp"

namespace isotope::bootstrap {

class Gather {
 public:
  /// Why an all-gather failed for one PE.
  struct Refusal {
    Code code = Code::internal;
    int peer = Error::kNobody;
    std::string message;
  };
  /// What a PE that waits must be told now: all bytes, or why not.
  struct Answer {
    int rank = 0;
    std::shared_ptr<const Bytes> all;
    Refusal refusal;  // when there are no bytes
  };

  explicit Gather(int size);

  /// `rank` brings its part and waits until `deadline_ns` (os::now_ns). The answers may be for other ranks too.
  std::vector<Answer> post(int rank, ByteView mine, std::uint64_t deadline_ns);
  /// `rank` will post nothing more, in good order. Those who need it are told peer_left.
  std::vector<Answer> leave(int rank);
  /// Answers every PE whose deadline is over with a timeout that names the PEs which never came. Each PE has its own
  /// deadline: one that gives up does not take the others with it before theirs.
  std::vector<Answer> expire(std::uint64_t now_ns);
  /// The earliest deadline of a PE that waits.
  std::optional<std::uint64_t> next_deadline() const;

  /// True when `rank` was told of a failure: its end is no news any more.
  bool failed(int rank) const { return at(rank).state == State::failed; }
  bool waiting(int rank) const { return at(rank).state == State::waiting; }
  bool anybody_waits() const { return waiting_ > 0; }

 private:
  enum class State { absent, waiting, failed };
  struct Member {
    State state = State::absent;
    bool gone = false;     // left in good order
    bool gave_up = false;  // failed by its own deadline
    Bytes bytes;
    std::uint64_t deadline_ns = 0;
  };

  Member& at(int rank) { return members_[static_cast<std::size_t>(rank)]; }
  const Member& at(int rank) const { return members_[static_cast<std::size_t>(rank)]; }
  std::vector<int> ranks(State state) const;
  void fail(int rank, const Refusal& refusal, std::vector<Answer>& answers);
  void fail_waiting(const Refusal& refusal, std::vector<Answer>& answers);
  std::optional<Refusal> hopeless() const;
  std::vector<Answer> complete();

  std::vector<Member> members_;
  int waiting_ = 0;
};

}  // namespace isotope::bootstrap
