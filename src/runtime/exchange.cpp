#include "runtime/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "isotope/platform/platform.hpp"
#include "os/clock.hpp"
#include "os/error.hpp"
#include "runtime/end_process.hpp"

namespace isotope::runtime {

Error error_from(const bootstrap::AbortNotice& notice, int pe) {
  // An Error could be caught, and the process end with a status of its own.
  if (notice.code == Code::exited) end_process(notice.exit_code);
  return Error(notice.code, notice.message, pe, notice.peer);
}

namespace {

std::uint64_t times(std::uint64_t ns, std::uint64_t factor) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  return ns > kMost / factor ? kMost : ns * factor;
}

}  // namespace

std::vector<std::byte> Exchange::allgather(const char* call, std::span<const std::byte> mine, CallSite site,
                                           std::uint64_t deadlines) {
  const auto members = static_cast<std::size_t>(team_.size());
  std::vector<std::byte> all(mine.size() * members);
  std::size_t done = 0;
  // A job that is over has no collective calls, even where all members have come to one.
  if (const auto notice = segment_->aborted()) throw error_from(*notice, world_rank());
  do {
    const std::size_t part = std::min(mine.size() - done, kExchangeBytes);
    const std::uint64_t round = ++round_;
    post(round, call, mine.subspan(done, part));
    await_all(round, call, site, times(deadline_ns_, deadlines));
    check_calls(round, call, part, site);
    for (int member = 0; member < team_.size(); ++member) {
      const ExchangeRound& theirs = team_.at(cell_, member)->rounds[round % 2];
      if (part > 0)
        std::memcpy(all.data() + static_cast<std::size_t>(member) * mine.size() + done, theirs.payload, part);
    }
    done += part;
  } while (done < mine.size());
  return all;
}

void Exchange::post(std::uint64_t round, const char* call, std::span<const std::byte> mine) {
  ExchangeRound& slot = cell_->rounds[round % 2];
  std::strncpy(slot.call, call, sizeof slot.call - 1);
  slot.call[sizeof slot.call - 1] = '\0';
  slot.bytes = static_cast<std::uint32_t>(mine.size());
  if (!mine.empty()) std::memcpy(slot.payload, mine.data(), mine.size());
  store(&cell_->arrived, round, Order::release);
}

void Exchange::await_all(std::uint64_t round, const char* call, CallSite site, std::uint64_t deadline_ns) {
  const auto deadline = os::Deadline::after_ns(deadline_ns);
  std::uint32_t polls = 0;
  for (int member = 0; member < team_.size(); ++member) {
    const TeamCell& theirs = *team_.at(cell_, member);
    if (load(&theirs.arrived, Order::acquire) >= round) continue;
    platform::begin_wait(&theirs.arrived, sizeof theirs.arrived, Cmp::ge, round, team_.world_rank(member), call, site);
    while (load(&theirs.arrived, Order::acquire) < round) {
      platform::relax(++polls);
      if (polls < 1024 && polls % 64 != 0) continue;
      if (auto notice = segment_->aborted()) {
        // A member that had come, went on and then ended the job has not undone this round.
        if (all_arrived(round)) return;
        throw error_from(*notice, world_rank());
      }
      const int peer = team_.world_rank(member);
      const auto state = static_cast<PeState>(segment_->pe(peer).state.load(std::memory_order_acquire));
      // Looked at again after its state: what it posted before it left counts.
      if (state == PeState::left && load(&theirs.arrived, Order::acquire) < round) {
        segment_->abort(world_rank(), {Code::peer_left, world_rank(), peer, 0,
                                       fmt::format("PE {} left the job while PE {} waits for it in {} at {}:{}", peer,
                                                   world_rank(), call, site.file, site.line)});
      } else if (deadline.passed()) {
        int first = kNoPe;
        const std::string missing = missing_members(round, &first);
        segment_->abort(
            world_rank(),
            {Code::timeout, world_rank(), first, 0,
             fmt::format("PE {} waited {:.3g} s ({}ISOTOPE_WAIT_DEADLINE) in {} at {}:{} for {}", world_rank(),
                         static_cast<double>(deadline_ns) * 1e-9,
                         deadline_ns == deadline_ns_ ? "" : fmt::format("{} times ", deadline_ns / deadline_ns_), call,
                         site.file, site.line, missing)});
      }
    }
    platform::end_wait();
  }
}

bool Exchange::all_arrived(std::uint64_t round) const {
  for (int member = 0; member < team_.size(); ++member) {
    if (load(&team_.at(cell_, member)->arrived, Order::acquire) < round) return false;
  }
  return true;
}

std::string Exchange::missing_members(std::uint64_t round, int* first) const {
  std::string text;
  int count = 0;
  for (int member = 0; member < team_.size(); ++member) {
    const TeamCell& theirs = *team_.at(cell_, member);
    const std::uint64_t arrived = load(&theirs.arrived, Order::acquire);
    if (arrived >= round) continue;
    if (*first == kNoPe) *first = team_.world_rank(member);
    if (++count > 8) continue;
    text += fmt::format("{}PE {}", count > 1 ? ", " : "", team_.world_rank(member));
    if (arrived > 0) {
      const ExchangeRound& last = theirs.rounds[arrived % 2];
      text += fmt::format(" (last in {}, call {} of this team)",
                          std::string(last.call, strnlen(last.call, sizeof last.call)), arrived);
    }
  }
  if (count > 8) text += fmt::format(" and {} more", count - 8);
  return count == 0 ? "a PE that has come by now" : text;
}

void Exchange::check_calls(std::uint64_t round, const char* call, std::size_t bytes, CallSite site) {
  bool same = true;
  for (int member = 0; member < team_.size(); ++member) {
    const ExchangeRound& theirs = team_.at(cell_, member)->rounds[round % 2];
    same = same && theirs.bytes == bytes && std::strncmp(theirs.call, call, sizeof theirs.call - 1) == 0;
  }
  if (same) return;
  // Every member sees the same records, so every member throws, and the counts stay in step.
  std::string text = "PEs made different collective calls at once:";
  int other = kNoPe;  // the first that differs from member 0: the same on every member
  const ExchangeRound& first = team_.at(cell_, 0)->rounds[round % 2];
  for (int member = 0; member < team_.size(); ++member) {
    const ExchangeRound& theirs = team_.at(cell_, member)->rounds[round % 2];
    const std::string name(theirs.call, strnlen(theirs.call, sizeof theirs.call));
    text += fmt::format("{} PE {} {}", member > 0 ? "," : "", team_.world_rank(member), name);
    const bool differs = theirs.bytes != first.bytes || std::strncmp(theirs.call, first.call, sizeof theirs.call) != 0;
    if (other == kNoPe && differs) other = team_.world_rank(member);
  }
  throw Error(Code::mismatch, text + "; all members must make the same calls in the same order", world_rank(), other,
              site);
}

}  // namespace isotope::runtime
