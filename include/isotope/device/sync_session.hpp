// A barrier that one group uses many times in a kernel: what a sync looks up each time, the session has looked up once.
//
//   SyncSession meeting(block, team, 1);
//   for (int step = 0; step < steps; ++step) {
//     ...
//     if (!meeting.sync()) return;
//   }
//
// The same promises as sync and barrier (sync.hpp), and the same index: members may use sessions, syncs or both, round
// by round. All threads of the group make it, call it and end it together. Until its end nobody else of this PE uses
// the index, and the Team that it was made with lives.
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
    one_each_ = detail::has_thread_for_each(group, team);
    as_one_ = detail::meets_as_one(group, team);
    if (as_one_) {
      other_ = detail::opposite_of_lane(group, team, where_);
    } else if (one_each_) {
      other_ = detail::opposite_of(group, team, where_);
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
    if (refused_) return detail::told(team_, detail::agree(group_, false));
    const std::uint64_t last = last_++;
    if (as_one_) return detail::meet_as_one(group_, team_, other_, last_, order, call, [] {});
    if (!one_each_) return detail::meet_at(group_, team_, where_, last, order, call);
    return detail::told(team_, detail::agree(group_, detail::meet_opposite(team_, other_, last_, order, call, [] {})));
  }

  G group_;
  const Team& team_;
  detail::TeamBarrier where_;
  bool refused_ = false, one_each_ = false, as_one_ = false;
  std::uint64_t last_ = 0;
  detail::Opposite other_;
};

}  // namespace isotope
