// Waiting inside a block and a warp, and what crosses lanes.
#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "exec/backoff.hpp"
#include "exec/grid.hpp"

namespace isotope::exec {

void Launch::block_sync(Fiber& self) noexcept {
  if (draining_) return give_turn(self);
  progress();
  cpu::BlockState& block = *self.thread.block;
  if (block.arrived + 1 + block.returned == block.threads) {
    release_block(block);
    return;
  }
  ++block.arrived;
  block.waiting.push(self);
  go_on_from(self);
}

void Launch::release_block(cpu::BlockState& block) noexcept {
  block.arrived = 0;
  ++block.syncs;
  ready_.splice(block.waiting);
}

std::uint64_t Launch::warp_meet(Fiber& self, std::uint32_t mask, LaneOp op, std::uint64_t value,
                                std::uint32_t source) noexcept {
  cpu::BlockState& block = *self.thread.block;
  const std::uint32_t index = self.thread.thread_rank / cpu::kWarpSize;
  const std::uint32_t lane = self.thread.thread_rank % cpu::kWarpSize;
  const std::uint32_t bit = 1u << lane;
  const std::uint64_t alone = op == LaneOp::ballot ? (value != 0 ? bit : 0) : value;
  if ((mask & bit) == 0) {
    fail(
        fmt::format("thread {} of block {} is lane {} of its warp and called a warp operation with mask {:#010x}, "
                    "which lacks that lane; "
                    "a mask names every lane that calls",
                    self.thread.thread_rank, block.rank, lane, mask));
    return alone;
  }
  if (draining_) {
    give_turn(self);
    return alone;
  }
  progress();
  mask &= block.lanes(index);
  const std::uint32_t gone = block.returned_lanes[index];
  if ((mask & ~gone) == bit) return alone;

  if (block.warps_made == 0) {
    block.warps_made = (block.threads + cpu::kWarpSize - 1) / cpu::kWarpSize;
    block.warps = std::make_unique<WarpState[]>(block.warps_made);
  }
  WarpState& warp = block.warps[index];
  std::uint32_t at = 0;
  while (at < warp.open && warp.barriers[at].mask != mask) ++at;
  WarpBarrier& barrier = warp.barriers[at];
  if (at == warp.open) {
    ++warp.open;
    barrier.mask = mask;
    barrier.arrived = barrier.ballot = 0;
    barrier.exchanges = false;
  }
  barrier.arrived |= bit;
  if (op == LaneOp::ballot && value != 0) barrier.ballot |= bit;
  barrier.exchanges |= op != LaneOp::sync;
  warp.value[lane] = value;
  warp.source[lane] = source;
  warp.op[lane] = op;
  if ((mask & ~(barrier.arrived | gone)) == 0) {
    release_warp(warp, at);
  } else {
    barrier.waiting.push(self);
    go_on_from(self);
  }
  return warp.value[lane];
}

// The last lane works out everybody's result, so one meeting is enough: a lane's words are its own until it comes to
// the next.
void Launch::release_warp(WarpState& warp, std::uint32_t at) noexcept {
  WarpBarrier& barrier = warp.barriers[at];
  if (barrier.exchanges) {
    std::uint64_t brought[cpu::kWarpSize];
    for (std::uint32_t lane = 0; lane < cpu::kWarpSize; ++lane) brought[lane] = warp.value[lane];
    for (std::uint32_t left = barrier.arrived; left != 0; left &= left - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
      const std::uint32_t source = warp.source[lane];
      if (warp.op[lane] == LaneOp::ballot) {
        warp.value[lane] = barrier.ballot;
      } else if (source < cpu::kWarpSize && (barrier.arrived >> source & 1) != 0) {
        warp.value[lane] = brought[source];
      }
    }
  }
  ready_.splice(barrier.waiting);
  const std::uint32_t last = --warp.open;
  if (at != last) {
    barrier = warp.barriers[last];
    warp.barriers[last].waiting = {};
  }
}

void Launch::lane_returned(cpu::BlockState& block, std::uint32_t index) noexcept {
  WarpState& warp = block.warps[index];
  const std::uint32_t gone = block.returned_lanes[index];
  for (std::uint32_t at = 0; at < warp.open;) {
    const WarpBarrier& barrier = warp.barriers[at];
    if ((barrier.mask & ~(barrier.arrived | gone)) == 0) {
      release_warp(warp, at);
    } else {
      ++at;
    }
  }
}

// From now on syncs wait for nobody, so that the bodies come to their ends.
void Launch::drain() noexcept {
  draining_ = true;
  const auto release = [this](cpu::BlockState& block) {
    if (!block.running) return;
    if (block.arrived != 0) release_block(block);
    for (std::uint32_t w = 0; w < block.warps_made; ++w) {
      while (block.warps[w].open != 0) release_warp(block.warps[w], block.warps[w].open - 1);
    }
  };
  release(first_block_);
  for (const auto& block : more_blocks_) release(*block);
}

}  // namespace isotope::exec

namespace isotope::cpu {

namespace {

struct HostWait {
  exec::Backoff backoff;
  std::uint32_t last_polls = ~0u;
};
constinit thread_local HostWait t_host_wait{};

std::uint64_t warp_meet(std::uint32_t mask, exec::LaneOp op, std::uint64_t value, std::uint32_t source) noexcept {
  exec::Fiber* self = exec::current_fiber();
  if (self == nullptr || self->thread.block_threads == 1) return op == exec::LaneOp::ballot ? (value & mask) : value;
  return self->launch->warp_meet(*self, mask, op, value, source);
}

}  // namespace

void block_sync() noexcept {
  exec::Fiber* self = exec::current_fiber();
  if (self == nullptr || self->thread.block_threads == 1) return;
  self->launch->block_sync(*self);
}

void warp_sync(std::uint32_t mask) noexcept { warp_meet(mask, exec::LaneOp::sync, 0, 0); }

std::uint64_t warp_exchange(std::uint32_t mask, std::uint64_t value, std::uint32_t source) noexcept {
  return warp_meet(mask, exec::LaneOp::exchange, value, source);
}

std::uint32_t warp_ballot(std::uint32_t mask, bool predicate) noexcept {
  return static_cast<std::uint32_t>(warp_meet(mask, exec::LaneOp::ballot, predicate ? 1 : 0, 0));
}

std::uint32_t warp_active_mask() noexcept {
  const exec::Fiber* self = exec::current_fiber();
  if (self == nullptr) return 1;
  const BlockState& block = *self->thread.block;
  const std::uint32_t warp = self->thread.thread_rank / kWarpSize;
  return block.lanes(warp) & ~block.returned_lanes[warp];
}

std::uint64_t block_broadcast(std::uint64_t value) noexcept {
  exec::Fiber* self = exec::current_fiber();
  if (self == nullptr || self->thread.block_threads == 1) return value;
  // Two slots: the next broadcast writes the other one, and the one after that starts only when every thread has read
  // this.
  BlockState& block = *self->thread.block;
  std::uint64_t& slot = block.broadcast[block.syncs % 2];
  if (self->thread.thread_rank == 0) slot = value;
  self->launch->block_sync(*self);
  return slot;
}

bool block_all(bool value) noexcept {
  exec::Fiber* self = exec::current_fiber();
  if (self == nullptr || self->thread.block_threads == 1) return value;
  BlockState& block = *self->thread.block;
  const std::uint64_t number = block.syncs + 1;
  std::uint64_t& dissent = block.dissent[number % 2];
  if (!value) dissent = number;
  self->launch->block_sync(*self);
  return dissent != number;
}

void* block_shared(const void* key, std::size_t bytes, std::size_t alignment) {
  if (exec::Fiber* self = exec::current_fiber())
    return self->thread.block->shared.get(key, bytes, alignment, kMaxSharedBytes);
  // Host code that calls device functions is a block of its own that lasts as long as its thread.
  thread_local exec::SharedArena arena;
  return arena.get(key, bytes, alignment, exec::SharedArena::kNoLimit);
}

void* dynamic_shared(std::size_t* bytes) noexcept {
  static const char key = 0;
  exec::Fiber* self = exec::current_fiber();
  *bytes = self == nullptr ? 0 : self->thread.block->dynamic_bytes;
  if (*bytes == 0) return nullptr;
  return self->thread.block->shared.get(&key, *bytes, 128, exec::SharedArena::kNoLimit);  // the launch checked it
}

void relax(std::uint32_t failed_polls) noexcept {
  if (exec::Fiber* self = exec::current_fiber()) return self->launch->relax(*self, failed_polls);
  HostWait& wait = t_host_wait;
  if (failed_polls <= wait.last_polls) wait.backoff.reset();
  wait.last_polls = failed_polls;
  wait.backoff.step();
}

}  // namespace isotope::cpu
