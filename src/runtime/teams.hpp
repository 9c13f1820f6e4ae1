// Making teams: agreeing on members and on a cell, and giving the cell back when all members have let go.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "isotope/device/team.hpp"
#include "runtime/exchange.hpp"
#include "runtime/process_job.hpp"

namespace isotope::runtime {

/// Which cells of this PE are in use. Freed by remote members too, through TeamCell::released.
class TeamCells {
 public:
  /// `limit`: ids below it are given out.
  TeamCells(ProcessJob& job, int rank, std::uint32_t limit) : job_(&job), rank_(rank), limit_(limit), members_(1, 0) {}

  TeamCell* cell(std::uint32_t id) const;
  std::uint32_t limit() const { return limit_; }
  /// Bit i set: cell i is free on this PE.
  std::vector<std::uint64_t> free_map() const;
  /// Whether all members of the team that had the cell have let go, as this PE sees it.
  bool is_free(std::uint32_t id) const;
  /// Clears the cell for a team of `members`. The members do it, then synchronise, before anyone uses it.
  void take(std::uint32_t id, int members);

 private:
  bool in_use(std::uint32_t id) const;

  ProcessJob* job_;
  int rank_;
  std::uint32_t limit_;
  mutable std::mutex mutex_;
  std::vector<int> members_;  // by id; 0: never used or known free
};

/// What a Team points to.
struct TeamParts {
  TeamState* state = nullptr;
  TeamWords* words = nullptr;
  const std::int32_t* table = nullptr;  // of a team that is not strided
  bool one_gpu = false;                 // all members drive the same one
  std::int64_t multicast_bytes = 0;     // from this PE's slot to the team's multicast addresses; 0: none
};

/// Everything behind one OwnedTeam (and behind the World's own team).
struct TeamRecord {
  std::uint32_t id = 0;
  Team team;
  TeamState state;
  bool stop_counted = false;          // in state.stops, since it was last rearmed
  TeamParts parts;                    // what kernels use
  std::vector<std::int32_t> table;    // world ranks, for teams that are not strided
  std::vector<std::int32_t> members;  // world ranks, for every team
  TeamCell* cell = nullptr;
  std::unique_ptr<Exchange> exchange;
  std::shared_ptr<ProcessJob> job;  // keeps the cells mapped

  ~TeamRecord();
};

/// Lets the runtime fill a Team in.
struct TeamAccess {
  /// `device` is what kernels use and `host` what host code uses; the same where kernels run on the CPU.
  static Team make(int rank, const std::vector<std::int32_t>& members, int world_rank, std::int64_t slot_bytes,
                   const TeamParts& device, const TeamParts& host);
};

/// Start and stride when `members` is an arithmetic sequence, as strided teams are.
std::optional<std::pair<int, int>> as_strided(const std::vector<std::int32_t>& members);

}  // namespace isotope::runtime
