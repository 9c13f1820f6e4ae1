#include "runtime/teams.hpp"

#include "os/memory.hpp"

namespace isotope::runtime {

TeamCell* TeamCells::cell(std::uint32_t id) const {
  return reinterpret_cast<TeamCell*>(job_->slot(rank_) + static_cast<std::size_t>(id) * kTeamCellBytes);
}

std::vector<std::uint64_t> TeamCells::free_map() const {
  std::vector<std::uint64_t> map(kTeamCells / 64, ~0ull);
  for (std::uint32_t id = limit_; id < kTeamCells; ++id) map[id / 64] &= ~(1ull << (id % 64));
  const std::lock_guard lock(mutex_);
  for (std::uint32_t id = 0; id < members_.size(); ++id) {
    // Cell 0 is the World's.
    if (in_use(id) || id == 0) map[id / 64] &= ~(1ull << (id % 64));
  }
  return map;
}

bool TeamCells::in_use(std::uint32_t id) const {
  return id < members_.size() && members_[id] > 0 &&
         cell(id)->released.load(std::memory_order_acquire) < static_cast<std::uint64_t>(members_[id]);
}

bool TeamCells::is_free(std::uint32_t id) const {
  const std::lock_guard lock(mutex_);
  return !in_use(id);
}

void TeamCells::take(std::uint32_t id, int members) {
  const std::lock_guard lock(mutex_);
  if (members_.size() <= id) members_.resize(id + 1, 0);
  members_[id] = members;
  // Every member of the team that had it before has let go, so nobody else writes here now. A cell that was never used
  // costs nothing: its pages come into being when they are written.
  os::clear_shared(cell(id), kTeamCellBytes);
}

TeamRecord::~TeamRecord() {
  if (cell == nullptr) return;
  // Stores, no waiting: each member's cell learns that one more has let go.
  for (int member = 0; member < team.size(); ++member)
    team.at(cell, member)->released.fetch_add(1, std::memory_order_acq_rel);
}

Team TeamAccess::make(int rank, const std::vector<std::int32_t>& members, int world_rank, std::int64_t slot_bytes,
                      const TeamParts& device, const TeamParts& host) {
  Team team;
  team.rank_ = rank;
  team.size_ = static_cast<std::int32_t>(members.size());
  team.start_ = members[0];
  team.world_rank_ = world_rank;
  team.slot_bytes_ = slot_bytes;
  team.state_ = device.state;
  team.host_state_ = host.state;
  team.words_ = device.words;
  team.one_gpu_ = device.one_gpu ? 1 : 0;
  team.multicast_bytes_ = device.multicast_bytes;
  if (const auto line = as_strided(members)) {
    team.pe_stride_ = line->second;
    team.member_bytes_ = line->second * slot_bytes;
  } else {
    team.table_ = device.table;
    team.host_table_ = host.table;
  }
  return team;
}

std::optional<std::pair<int, int>> as_strided(const std::vector<std::int32_t>& members) {
  if (members.size() < 2) return std::pair{members[0], 1};
  const int stride = members[1] - members[0];
  for (std::size_t i = 2; i < members.size(); ++i) {
    if (members[i] - members[i - 1] != stride) return std::nullopt;
  }
  return std::pair{members[0], stride};
}

}  // namespace isotope::runtime
