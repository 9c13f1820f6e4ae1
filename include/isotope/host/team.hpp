// OwnedTeam: the host's handle of a team. Its Team value goes to kernels.
//
//   OwnedTeam evens = world.split_strided(world.team(), 0, 2, (world.size() + 1) / 2);   // collective over the parent
//   if (evens) world.launch<k>({}, evens.team(), ...);                                   // empty on PEs that are not
//   members
//
// Destroying it never communicates; the team's slot is used again once every member has destroyed its handle.
#pragma once

#include <memory>

#include "isotope/device/team.hpp"

namespace isotope {

namespace runtime {
struct TeamRecord;
}  // namespace runtime

class OwnedTeam {
 public:
  /// Empty: this PE is not a member.
  OwnedTeam() = default;
  explicit OwnedTeam(std::shared_ptr<runtime::TeamRecord> record) : record_(std::move(record)) {}

  explicit operator bool() const noexcept { return record_ != nullptr; }
  /// The value for kernels. Throws Error(invalid_argument) when empty.
  Team team() const;
  int rank() const { return team().rank(); }
  int size() const { return team().size(); }
  /// Lets go now; the handle is empty afterwards.
  void destroy() noexcept { record_.reset(); }

 private:
  friend class World;
  std::shared_ptr<runtime::TeamRecord> record_;
};

/// Rank in `to` of member `rank` of `from`, or kNoPe when that PE is no member of `to`. Throws Error(out_of_range) for
/// a rank that `from` does not have.
int translate(const Team& from, int rank, const Team& to);

/// The two teams of a 2-D split: the row holds the PEs with this PE's y, the column those with this PE's x.
struct Teams2d {
  OwnedTeam row;
  OwnedTeam column;
};

}  // namespace isotope
