// Threads that wait for each other in a block or a warp, what crosses lanes, and shared memory: the functions of
// platform/cpu/thread.hpp, for the checker.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "check/advice.hpp"
#include "check/findings.hpp"
#include "check/groups.hpp"
#include "check/memory.hpp"
#include "check/older.hpp"
#include "check/scheduler.hpp"
#include "check/step_log.hpp"
#include "check/text.hpp"
#include "isotope/base/error.hpp"
#include "isotope/host/launch.hpp"

namespace isotope::check {

namespace {

enum LaneOp : std::uint8_t { kSync, kExchange, kBallot };

/// Everyone who met knows what everyone did before.
void meet(const std::vector<Task*>& tasks) {
  VectorClock all, extra;
  for (const Task* one : tasks) {
    all.join(one->clock);
    if (!one->extra.empty()) extra.join(one->extra);
  }
  for (Task* one : tasks) {
    one->clock = all;
    if (!extra.empty()) one->extra = extra;
    one->tick();
    note_access(*one, 0);
  }
}

void release_block(Block& block) {
  meet(block.waiting);
  ++block.syncs;
  std::vector<Task*> waiting;
  waiting.swap(block.waiting);
  for (Task* one : waiting) Scheduler::instance().wake(*one);
}

void sync_block(Task& self) {
  Block& block = *self.block;
  block.waiting.push_back(&self);
  if (block.waiting.size() + block.returned == block.threads) {
    log_event(self, "comes last to the block sync", self.last_pc);
    release_block(block);
    return;
  }
  log_event(self, "waits in the block sync", self.last_pc);
  Scheduler::instance().block(State::block_sync);
}

void release_warp(std::vector<WarpMeeting>& open, std::size_t at) {
  const WarpMeeting meeting = open[at];
  open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
  std::uint64_t brought[cpu::kWarpSize] = {};
  for (const Task* one : meeting.waiting) brought[one->thread.thread_rank % cpu::kWarpSize] = one->lane_value;
  for (Task* one : meeting.waiting) {
    if (one->lane_op == kBallot) {
      one->lane_value = meeting.ballot;
    } else if (one->lane_source < cpu::kWarpSize && (meeting.arrived >> one->lane_source & 1) != 0) {
      one->lane_value = brought[one->lane_source];
    }
  }
  meet(meeting.waiting);
  for (Task* one : meeting.waiting) Scheduler::instance().wake(*one);
}

std::uint32_t lanes_of(const Block& block, std::uint32_t warp) {
  const std::uint32_t left = block.threads - warp * cpu::kWarpSize;
  return left >= cpu::kWarpSize ? ~0u : (1u << left) - 1;
}

std::uint32_t returned_lanes(const Block& block, std::uint32_t warp) {
  std::uint32_t gone = 0;
  for (std::uint32_t lane = 0; lane < cpu::kWarpSize; ++lane) {
    const std::uint32_t rank = warp * cpu::kWarpSize + lane;
    if (rank < block.threads && block.tasks[rank] == nullptr) gone |= 1u << lane;
  }
  return gone;
}

void release_complete_warps(Block& block, std::uint32_t warp) {
  if (warp >= block.warps.size()) return;
  auto& open = block.warps[warp];
  const std::uint32_t gone = returned_lanes(block, warp);
  for (std::size_t at = 0; at < open.size();) {
    if ((open[at].mask & ~(open[at].arrived | gone)) == 0) {
      release_warp(open, at);
    } else {
      ++at;
    }
  }
}

std::uint64_t meet_warp(std::uint32_t mask, LaneOp op, std::uint64_t value, std::uint32_t source) {
  Task* self = Scheduler::current();
  if (self == nullptr || self->block == nullptr) return op == kBallot ? (value & mask) : value;
  Block& block = *self->block;
  const std::uint32_t warp = self->thread.thread_rank / cpu::kWarpSize;
  const std::uint32_t bit = 1u << self->thread.thread_rank % cpu::kWarpSize;
  if ((mask & bit) == 0) {
    finish("divergence", "mask lacks the caller",
           fmt::format("a warp operation with a mask, {:#010x}, that lacks the caller's own lane\n  {}", mask,
                       who_text(*self)));
  }
  mask &= lanes_of(block, warp);
  if (block.warps.size() <= warp) block.warps.resize(warp + 1);
  auto& open = block.warps[warp];
  auto meeting = std::find_if(open.begin(), open.end(), [&](const WarpMeeting& one) { return one.mask == mask; });
  if (meeting == open.end()) meeting = open.insert(open.end(), WarpMeeting{mask, 0, 0, {}});
  meeting->arrived |= bit;
  if (op == kBallot && value != 0) meeting->ballot |= bit;
  meeting->waiting.push_back(self);
  self->lane_value = value;
  self->lane_source = source;
  self->lane_op = op;
  if ((mask & ~(meeting->arrived | returned_lanes(block, warp))) == 0) {
    release_warp(open, static_cast<std::size_t>(meeting - open.begin()));
  } else {
    Scheduler::instance().block(State::warp_sync);
  }
  return self->lane_value;
}

Task* in_block_of_several() {
  Task* self = Scheduler::current();
  return self == nullptr || self->block == nullptr || self->block->threads == 1 ? nullptr : self;
}

}  // namespace

void thread_returned(Task& task) {
  Block& block = *task.block;
  ++block.returned;
  block.tasks[task.thread.thread_rank] = nullptr;
  block.misses_of_returned.insert(block.misses_of_returned.end(), task.near_misses.begin(), task.near_misses.end());
  if (!block.waiting.empty() && block.waiting.size() + block.returned == block.threads) release_block(block);
  release_complete_warps(block, task.thread.thread_rank / cpu::kWarpSize);
}

}  // namespace isotope::check

namespace isotope::cpu {

using check::Scheduler;
using check::Task;

namespace {
ThreadState g_outside;
}  // namespace

ThreadState& this_thread_state() noexcept {
  Task* self = Scheduler::current();
  return self != nullptr ? self->thread : g_outside;
}

void block_sync() noexcept {
  Task* self = check::in_block_of_several();
  if (self == nullptr) return;
  self->last_pc = __builtin_return_address(0);
  check::sync_block(*self);
}

void warp_sync(std::uint32_t mask) noexcept {
  if (Task* self = Scheduler::current()) self->last_pc = __builtin_return_address(0);
  check::meet_warp(mask, check::kSync, 0, 0);
}

std::uint64_t warp_exchange(std::uint32_t mask, std::uint64_t value, std::uint32_t source) noexcept {
  return check::meet_warp(mask, check::kExchange, value, source);
}

std::uint32_t warp_ballot(std::uint32_t mask, bool predicate) noexcept {
  return static_cast<std::uint32_t>(check::meet_warp(mask, check::kBallot, predicate ? 1 : 0, 0));
}

std::uint32_t warp_active_mask() noexcept {
  const Task* self = Scheduler::current();
  if (self == nullptr || self->block == nullptr) return 1;
  const std::uint32_t warp = self->thread.thread_rank / kWarpSize;
  return check::lanes_of(*self->block, warp) & ~check::returned_lanes(*self->block, warp);
}

std::uint64_t block_broadcast(std::uint64_t value) noexcept {
  Task* self = check::in_block_of_several();
  if (self == nullptr) return value;
  // Two slots, by the parity of the sync: nobody reads this one when thread 0 writes it the next time but one.
  std::uint64_t& slot = self->block->broadcast[self->block->syncs % 2];
  if (self->thread.thread_rank == 0) slot = value;
  self->last_pc = __builtin_return_address(0);
  check::sync_block(*self);
  return slot;
}

bool block_all(bool value) noexcept {
  Task* self = check::in_block_of_several();
  if (self == nullptr) return value;
  const std::uint64_t number = self->block->syncs + 1;
  std::uint64_t& dissent = self->block->dissent[number % 2];
  if (!value) dissent = number;
  self->last_pc = __builtin_return_address(0);
  check::sync_block(*self);
  return dissent != number;
}

void* block_shared(const void* key, std::size_t bytes, std::size_t alignment) {
  static check::Block outside;
  Task* self = Scheduler::current();
  check::Block& block = self != nullptr && self->block != nullptr ? *self->block : outside;
  std::size_t used = 0;
  for (const auto& one : block.shared) {
    if (one.key == key) return one.data;
    used += one.bytes;
  }
  if (used + bytes > kMaxSharedBytes && self != nullptr) {
    throw Error(
        Code::invalid_argument,
        fmt::format("static shared memory of a block: {} bytes asked for with {} in use, but a block has at most {}",
                    bytes, used, kMaxSharedBytes));
  }
  block.shared.push_back({key, check::memory().new_shared(bytes, alignment), bytes});
  return block.shared.back().data;
}

void* dynamic_shared(std::size_t* bytes) noexcept {
  static const char key = 0;
  Task* self = Scheduler::current();
  *bytes = self == nullptr || self->block == nullptr ? 0 : self->block->dynamic_bytes;
  return *bytes == 0 ? nullptr : block_shared(&key, *bytes, 128);
}

void relax(std::uint32_t) noexcept {
  if (Scheduler::current() == nullptr) return;
  check::advise_no_poll(*Scheduler::current());
  Scheduler::instance().relax();
}

/// Time is counted in steps: the same in every run of a seed.
std::uint64_t clock_ns() noexcept { return Scheduler::current() != nullptr ? Scheduler::instance().steps() * 1000 : 0; }

}  // namespace isotope::cpu
