// Splitting teams: the members agree on the arguments and on a cell, then use it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/outcome.hpp"
#include "runtime/world_core.hpp"

namespace isotope::runtime {

namespace {

/// What a PE says in a split. The members differ from PE to PE (rows of a 2-D split); the arguments must not.
struct SplitRound {
  std::int32_t code = 0;
  std::uint64_t hash = 0;
  char arguments[160] = {};
  char message[160] = {};
  std::uint64_t free_cells[kTeamCells / 64] = {};
};
static_assert(sizeof(SplitRound) <= kExchangeBytes);

std::uint64_t fnv1a(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

}  // namespace

TeamRecord& WorldCore::record_of(const Team& team, const char* call) {
  const std::lock_guard lock(mutex_);
  for (const auto& weak : teams_) {
    const auto record = weak.lock();
    if (record && record->team.size() > 0 && &record->state == &team.state()) return *record;
  }
  throw Error(Code::invalid_argument,
              fmt::format("{}: the team is empty, was destroyed, or belongs to another World", call), rank_);
}

ObjectRange WorldCore::object_at(const void* address) {
  return detail::find_object(gpu_ != nullptr ? gpu_objects_ : control_.objects,
                             reinterpret_cast<std::uint64_t>(address));
}

void WorldCore::fill_team(TeamRecord& record, int my_rank) {
  if (!as_strided(record.members)) record.table = record.members;
  const TeamParts host{&record.state, &cells_->cell(record.id)->words,
                       record.table.empty() ? nullptr : record.table.data()};
  record.parts = gpu_ != nullptr ? gpu_->make_team(record.id, record.members, record.table) : host;
  record.team = TeamAccess::make(my_rank, record.members, rank_, static_cast<std::int64_t>(job_->layout().slot_bytes()),
                                 record.parts, host);
}

std::shared_ptr<TeamRecord> WorldCore::split(const char* call, const Team& parent, const SplitArguments& arguments,
                                             CallSite site) {
  TeamRecord& over = record_of(parent, call);
  SplitRound mine;
  mine.hash = fnv1a(arguments.text);
  std::snprintf(mine.arguments, sizeof mine.arguments, "%s", arguments.text.c_str());
  if (!arguments.error.empty()) {
    mine.code = static_cast<std::int32_t>(Code::out_of_range);
    std::snprintf(mine.message, sizeof mine.message, "%s", arguments.error.c_str());
  }
  const std::vector<std::uint64_t> free = cells_->free_map();
  std::copy(free.begin(), free.end(), mine.free_cells);
  const std::vector<SplitRound> all = over.exchange->gather(call, mine, site);

  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].hash == all[0].hash) continue;
    std::string text = fmt::format("{}: members of the parent passed different arguments:", call);
    for (std::size_t m = 0; m < std::min<std::size_t>(all.size(), 16); ++m)
      text += fmt::format("\n  PE {}: {}", over.members[m], all[m].arguments);
    throw Error(Code::mismatch, text, rank_, over.members[i], site);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].code != 0)
      throw Error(static_cast<Code>(all[i].code), fmt::format("{}: {}", call, all[i].message), rank_, over.members[i],
                  site);
  }
  // The lowest cell that is free on every member of the parent. Disjoint teams of one split share its number.
  std::uint32_t id = 0;
  for (std::size_t word = 0; word < kTeamCells / 64 && id == 0; ++word) {
    std::uint64_t common = ~0ull;
    for (const SplitRound& round : all) common &= round.free_cells[word];
    if (common != 0) id = static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(common)));
  }
  if (id == 0)
    throw Error(Code::out_of_range,
                fmt::format("{}: all {} teams of this World are in use; destroy some", call, cells_->limit() - 1),
                rank_, kNoPe, site);

  std::shared_ptr<TeamRecord> record;
  Outcome made;
  if (!arguments.members.empty()) {
    record = std::make_shared<TeamRecord>();
    record->id = id;
    record->state.control = &control_;
    for (const int member : arguments.members) record->members.push_back(parent.world_rank(member));
    cells_->take(id, static_cast<int>(record->members.size()));
  }
  if (gpu_ != nullptr)
    gpu_->open_multicast(id, record ? record->members : std::vector<std::int32_t>(), *over.exchange, over.members,
                         site);
  if (record != nullptr) {
    try {
      const auto me = std::find(record->members.begin(), record->members.end(), rank_);
      fill_team(*record, static_cast<int>(me - record->members.begin()));
    } catch (const Error& error) {
      made.fail(error);
    }
  }
  // Nobody uses the cell before every member has cleared it.
  throw_if_any_failed(
      over.exchange->gather(call, made, site), call, rank_, [&](std::size_t i) { return over.members[i]; }, site);
  if (record == nullptr) return nullptr;
  record->cell = cells_->cell(id);
  record->job = job_;
  record->exchange = std::make_unique<Exchange>(job_->segment(), record->team, record->cell, wait_deadline_ns_);
  const std::lock_guard lock(mutex_);
  std::erase_if(teams_, [](const auto& weak) { return weak.expired(); });
  teams_.push_back(record);
  return record;
}

void WorldCore::barrier(const Team& team, const char* call, std::uint64_t deadlines, CallSite site) {
  record_of(team, call).exchange->barrier(call, site, deadlines);
}

}  // namespace isotope::runtime
