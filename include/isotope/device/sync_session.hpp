// A barrier that one group uses many times in a kernel: what a sync looks up each time, the session has looked up once.
//
//   SyncSession meeting(block, team, 1);
//   for (int step = 0; step < steps; ++step) {
//     ...
//     if (!meeting.sync()) return;
//   }
//
// The same promises as sync and barrier (sync.hpp), and the same index: members may use sessions, syncs or both, round by
// round. All threads of the group make it, call it and end it together. Until its end nobody else of this PE uses the index,
// and the Team that it was made with lives.
#pragma once

#include <cstdint>

#include "isotope/base/call_site.hpp"
#include "isotope/device/group.hpp"
#include "isotope/device/reach.hpp"
#include "isotope/device/sync.hpp"
#include "isotope/device/team.hpp"
#include "isotope/device/wait.hpp"

namespace isotope {

template <Group G>
class SyncSession {
 public:
  ISOTOPE_HD SyncSession(G group, const Team& team, int index = 0, CallSite site = CallSite::current())
      : group_(group), team_(team), where_{index} {
    group.sync();
    if constexpr (detail::kCheckRanks) {
      refused_ = !detail::index_is_good(team, {"SyncSession", site}, "index", index, kTeamBarriers);
      if (refused_) return;
    }
    last_ = *where_.rounds(team);
    const auto others = static_cast<std::uint32_t>(team.size()) - 1;
    // A thread for each other member: it tells that one and waits for that one, by addresses that it keeps.
    one_each_ = platform::kThreadsRunTogether && team.size() <= detail::kAllToAll && group.size() >= others;
    if (one_each_ && group.thread_rank() < others) {
      peer_ = team.rank() + 1 + static_cast<int>(group.thread_rank());
      if (peer_ >= team.size()) peer_ -= team.size();
      theirs_ = &team.at(where_.flags(team), peer_)->flags[team.rank()];
      mine_ = &where_.flags(team)->flags[peer_];
    }
  }
  SyncSession(const SyncSession&) = delete;
  SyncSession& operator=(const SyncSession&) = delete;
  ISOTOPE_HD ~SyncSession() {
    group_.sync();
    if (one_each_ && group_.is_leader()) *where_.rounds(team_) = last_;
  }

  ISOTOPE_HD bool sync(Order order = Order::acq_rel, CallSite site = CallSite::current()) {
    return meet(order, {"SyncSession::sync", site});
  }
  ISOTOPE_HD bool barrier(CallSite site = CallSite::current()) {
    platform::complete_puts();
    return meet(Order::acq_rel, {"SyncSession::barrier", site});
  }

 private:
  ISOTOPE_HD bool meet(Order order, detail::Call call) {
    group_.sync();
    Arrival arrival{where_.index, last_ + 1, order, refused_};
    if (!one_each_) {
      if (!refused_) arrival = detail::come_to(group_, team_, where_, last_, arrival);
      last_ = arrival.round;
      return detail::await_at(group_, team_, where_, arrival, call);
    }
    last_ = arrival.round;
    bool well = !team_.stopped();
    if (well && mine_ != nullptr) {
      detail::store_to(team_, theirs_, last_, detail::order_of_raising(order));
      detail::Patience patience(team_);
      well = detail::wait_for_word(patience, mine_, Cmp::ge, last_, detail::order_of_waiting(order), team_.world_rank(peer_), call);
    }
    return detail::told(team_, detail::agree(group_, well));
  }

  G group_;
  const Team& team_;
  detail::TeamBarrier where_;
  bool refused_ = false, one_each_ = false;
  int peer_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t* theirs_ = nullptr;
  const std::uint64_t* mine_ = nullptr;
};

}  // namespace isotope
