// See gather.hpp. The rules in one place: an all-gather completes when everybody waits; it fails for one PE at that
// PE's deadline, and for everybody as soon as it can never complete.
#include "bootstrap/gather.hpp"

#include <fmt/format.h>

#include <map>

#include "bootstrap/rank_list.hpp"

namespace isotope::bootstrap {

Gather::Gather(int size) : members_(static_cast<std::size_t>(size)) {}

std::vector<int> Gather::ranks(State state) const {
  std::vector<int> found;
  for (std::size_t i = 0; i < members_.size(); ++i)
    if (members_[i].state == state) found.push_back(static_cast<int>(i));
  return found;
}

void Gather::fail(int rank, const Refusal& refusal, std::vector<Answer>& answers) {
  Member& member = at(rank);
  if (member.state == State::waiting) --waiting_;
  member.state = State::failed;
  member.bytes.clear();
  answers.push_back({rank, nullptr, refusal});
}

void Gather::fail_waiting(const Refusal& refusal, std::vector<Answer>& answers) {
  for (const int rank : ranks(State::waiting)) fail(rank, refusal, answers);
}

/// Why no all-gather of this World can complete any more, if so. The first cause is named, not what followed from it.
std::optional<Gather::Refusal> Gather::hopeless() const {
  std::optional<Refusal> left, gave_up, failed;
  for (std::size_t i = members_.size(); i-- > 0;) {
    const Member& member = members_[i];
    const int rank = static_cast<int>(i);
    if (member.gone && member.state == State::absent)
      left = Refusal{Code::peer_left, rank,
                     fmt::format("PE {} left the job, but this PE still called a collective that needs it", rank)};
    else if (member.gave_up)
      gave_up =
          Refusal{Code::timeout, rank,
                  fmt::format("PE {} had given up waiting before the last PE came; start the PEs closer together, or "
                              "raise ISOTOPE_BOOTSTRAP_DEADLINE",
                              rank)};
    else if (member.state == State::failed)
      failed = Refusal{Code::bootstrap_failed, rank,
                       fmt::format("an earlier collective of this World failed on PE {}", rank)};
  }
  return left ? left : gave_up ? gave_up : failed;
}

std::vector<Gather::Answer> Gather::post(int rank, ByteView mine, std::uint64_t deadline_ns) {
  std::vector<Answer> answers;
  if (const auto reason = hopeless()) {
    fail(rank, *reason, answers);
    // The one who just came may have been the last that the others waited for.
    if (ranks(State::absent).empty()) fail_waiting(*reason, answers);
    return answers;
  }
  Member& member = at(rank);
  member.bytes.assign(mine.begin(), mine.end());
  member.deadline_ns = deadline_ns;
  member.state = State::waiting;
  ++waiting_;
  return static_cast<std::size_t>(waiting_) == members_.size() ? complete() : answers;
}

std::vector<Gather::Answer> Gather::complete() {
  std::vector<Answer> answers;
  std::map<std::size_t, std::vector<int>> by_count;
  for (std::size_t i = 0; i < members_.size(); ++i) by_count[members_[i].bytes.size()].push_back(static_cast<int>(i));
  if (by_count.size() > 1) {
    std::string counts;
    for (const auto& [bytes, who] : by_count)
      counts += fmt::format("{}{}: {} bytes", counts.empty() ? "" : "; ", rank_list(who), bytes);
    fail_waiting(
        {Code::mismatch, by_count.begin()->second.front(),
         fmt::format("the PEs called the same all-gather with different byte counts ({}); all must pass the same",
                     counts)},
        answers);
    return answers;
  }
  auto all = std::make_shared<Bytes>();
  all->reserve(members_.size() * by_count.begin()->first);
  for (Member& member : members_) {
    all->insert(all->end(), member.bytes.begin(), member.bytes.end());
    member.bytes.clear();
    member.state = State::absent;
  }
  waiting_ = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) answers.push_back({static_cast<int>(i), all, {}});
  return answers;
}

std::vector<Gather::Answer> Gather::leave(int rank) {
  std::vector<Answer> answers;
  Member& member = at(rank);
  member.gone = true;
  if (member.state == State::absent && waiting_ > 0)
    if (const auto reason = hopeless()) fail_waiting(*reason, answers);
  return answers;
}

std::vector<Gather::Answer> Gather::expire(std::uint64_t now_ns) {
  std::vector<Answer> answers;
  for (const int rank : ranks(State::waiting)) {
    if (at(rank).deadline_ns > now_ns) continue;
    const std::vector<int> missing = ranks(State::absent);
    at(rank).gave_up = true;
    fail(rank,
         {Code::timeout, missing.empty() ? Error::kNobody : missing.front(),
          fmt::format("{} of {} never came; look why, or raise ISOTOPE_BOOTSTRAP_DEADLINE", rank_list(missing),
                      members_.size())},
         answers);
  }
  return answers;
}

std::optional<std::uint64_t> Gather::next_deadline() const {
  std::optional<std::uint64_t> next;
  for (const Member& member : members_)
    if (member.state == State::waiting && (!next || member.deadline_ns < *next)) next = member.deadline_ns;
  return next;
}

}  // namespace isotope::bootstrap
