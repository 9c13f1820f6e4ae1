// The host's own collective: an all-gather of small records over the members of a team, through shared memory.
//
// Everything collective on the host is built on it: barriers, allocation, team splits. It compares the names of the
// calls the members made, and never hangs: the job's abort word, the deadline, and members that left are all looked at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "isotope/base/call_site.hpp"
#include "isotope/device/team.hpp"
#include "runtime/segment.hpp"
#include "runtime/team_cell.hpp"

namespace isotope::runtime {

/// The Error that a notice becomes on PE `pe`.
Error error_from(const bootstrap::AbortNotice& notice, int pe);

class Exchange {
 public:
  /// `cell` is this PE's own.
  Exchange(const Segment& segment, const Team& team, TeamCell* cell, std::uint64_t deadline_ns)
      : segment_(&segment), team_(team), cell_(cell), deadline_ns_(deadline_ns) {}

  /// Collective over the team; one thread at a time. Any number of bytes, the same on every member. The result is in
  /// team-rank order. Throws Error: mismatch when members made different calls (nothing else is harmed); whatever ended
  /// the job; timeout and peer_left end the job for everyone, since the members that did come would wait for ever.
  /// `deadlines`: how many times the deadline others may take.
  std::vector<std::byte> allgather(const char* call, std::span<const std::byte> mine, CallSite site,
                                   std::uint64_t deadlines = 1);

  /// The same for one plain record each.
  template <class T>
  std::vector<T> gather(const char* call, const T& mine, CallSite site) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = allgather(call, std::as_bytes(std::span(&mine, 1)), site);
    std::vector<T> all(bytes.size() / sizeof(T));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  }

  /// The same for lists of plain records that differ in length. In team-rank order; two rounds.
  template <class T>
  std::vector<std::vector<T>> gather_lists(const char* call, const std::vector<T>& mine, CallSite site) {
    const auto lengths = gather(call, static_cast<std::uint64_t>(mine.size()), site);
    std::vector<T> padded = mine;
    padded.resize(*std::max_element(lengths.begin(), lengths.end()));
    const auto bytes = allgather(call, std::as_bytes(std::span(padded)), site);
    std::vector<std::vector<T>> lists;
    for (const std::uint64_t length : lengths) {
      const std::byte* from = bytes.data() + lists.size() * padded.size() * sizeof(T);
      lists.emplace_back(length);
      if (length != 0) std::memcpy(lists.back().data(), from, length * sizeof(T));
    }
    return lists;
  }

  void barrier(const char* call, CallSite site, std::uint64_t deadlines = 1) { allgather(call, {}, site, deadlines); }

 private:
  void post(std::uint64_t round, const char* call, std::span<const std::byte> mine);
  void await_all(std::uint64_t round, const char* call, CallSite site, std::uint64_t deadline_ns);
  void check_calls(std::uint64_t round, const char* call, std::size_t bytes, CallSite site);
  bool all_arrived(std::uint64_t round) const;
  std::string missing_members(std::uint64_t round, int* first) const;
  int world_rank() const { return team_.world_rank(team_.rank()); }

  const Segment* segment_;
  Team team_;
  TeamCell* cell_;
  std::uint64_t deadline_ns_;
  std::uint64_t round_ = 0;
};

}  // namespace isotope::runtime
