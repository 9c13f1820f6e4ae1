// The public side of teams: arguments in, agreed splits out.
#include "isotope/host/team.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "isotope/host/world.hpp"
#include "runtime/world_core.hpp"

namespace isotope {

Team OwnedTeam::team() const {
  if (record_ == nullptr)
    throw Error(Code::invalid_argument,
                "this PE is no member of the team, or the handle was destroyed; test it with `if (team)` first");
  return record_->team;
}

int translate(const Team& from, int rank, const Team& to) {
  if (rank < 0 || rank >= from.size()) {
    throw Error(Code::out_of_range, fmt::format("translate: rank {} of a team of {}; 0 to {} was expected", rank,
                                                from.size(), from.size() - 1));
  }
  return to.rank_of(from.world_rank(rank));
}

namespace {

bool contains(const std::vector<int>& members, int rank) {
  return std::find(members.begin(), members.end(), rank) != members.end();
}

/// The list as a message shows it: whole when short.
std::string list_text(const std::vector<int>& members) {
  const auto shown = std::min<std::size_t>(members.size(), 24);
  std::string text =
      fmt::format("{}", fmt::join(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(shown), " "));
  if (shown == members.size()) return text;
  // The rest must count in the comparison, too.
  std::uint64_t hash = 0;
  for (const int member : members) hash = hash * 31 + static_cast<std::uint64_t>(member) + 1;
  return fmt::format("{} ... {} in all, hash {:x}", text, members.size(), hash);
}

}  // namespace

OwnedTeam World::split_strided(const Team& parent, int start, int stride, int count, CallSite site) {
  const auto lock = core().collective("split_strided");
  runtime::SplitArguments arguments;
  arguments.text = fmt::format("start {}, stride {}, count {}", start, stride, count);
  const std::int64_t last = start + static_cast<std::int64_t>(stride) * (static_cast<std::int64_t>(count) - 1);
  if (count < 1 || start < 0 || start >= parent.size() || last < 0 || last >= parent.size() ||
      (stride == 0 && count > 1)) {
    arguments.error =
        fmt::format("{} leaves a parent of {} PEs; members are start, start + stride, ... with count >= 1",
                    arguments.text, parent.size());
  } else {
    for (int i = 0; i < count; ++i) arguments.members.push_back(start + i * stride);
    if (!contains(arguments.members, parent.rank())) arguments.members.clear();
  }
  return OwnedTeam(core().split("split_strided", parent, arguments, site));
}

OwnedTeam World::split_list(const Team& parent, const std::vector<int>& members, CallSite site) {
  const auto lock = core().collective("split_list");
  runtime::SplitArguments arguments;
  arguments.text = fmt::format("members {}", list_text(members));
  std::vector<int> sorted = members;
  std::sort(sorted.begin(), sorted.end());
  if (members.empty()) {
    arguments.error = "the list of members is empty; at least one was expected";
  } else if (sorted.front() < 0 || sorted.back() >= parent.size()) {
    arguments.error = fmt::format("{}: ranks of the parent, 0 to {}, were expected", arguments.text, parent.size() - 1);
  } else if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    arguments.error =
        fmt::format("{}: rank {} is there twice", arguments.text, *std::adjacent_find(sorted.begin(), sorted.end()));
  } else if (contains(members, parent.rank())) {
    arguments.members = members;
  }
  return OwnedTeam(core().split("split_list", parent, arguments, site));
}

Teams2d World::split_2d(const Team& parent, int x_range, CallSite site) {
  const auto lock = core().collective("split_2d");
  runtime::SplitArguments row, column;
  row.text = column.text = fmt::format("x_range {}", x_range);
  if (x_range < 1) {
    row.error = column.error = fmt::format("x_range {}; at least 1 was expected", x_range);
  } else {
    const int x = parent.rank() % x_range, y = parent.rank() / x_range;
    for (int rank = 0; rank < parent.size(); ++rank) {
      if (rank / x_range == y) row.members.push_back(rank);
      if (rank % x_range == x) column.members.push_back(rank);
    }
  }
  Teams2d teams;
  teams.row = OwnedTeam(core().split("split_2d row", parent, row, site));
  teams.column = OwnedTeam(core().split("split_2d column", parent, column, site));
  return teams;
}

}  // namespace isotope
