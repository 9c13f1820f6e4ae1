// What a launch says when its threads can never go on, and what it does about a stack that was too small.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "exec/grid.hpp"

namespace isotope::exec {

namespace {

constexpr std::size_t kBlocksNamed = 4;
constexpr std::size_t kRangesNamed = 8;

std::vector<std::uint32_t> ranks(const FiberList& list) {
  std::vector<std::uint32_t> found;
  for (const Fiber* f = list.front(); f != nullptr; f = f->next) found.push_back(f->thread.thread_rank);
  std::sort(found.begin(), found.end());
  return found;
}

// "thread 3", "threads 0-30, 32".
std::string text(const std::vector<std::uint32_t>& sorted) {
  std::string out = sorted.size() == 1 ? "thread " : "threads ";
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < sorted.size(); ++ranges) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (ranges != 0) out += ", ";
    if (ranges == kRangesNamed) return out + fmt::format("and {} more", sorted.size() - i);
    out += last == i ? fmt::format("{}", sorted[i]) : fmt::format("{}-{}", sorted[i], sorted[last]);
    i = last + 1;
  }
  return out;
}

std::string describe(const cpu::BlockState& block) {
  std::string out = fmt::format("block {} ({}, {}, {}):", block.rank, block.index.x, block.index.y, block.index.z);
  const char* separator = " ";
  if (!block.waiting.empty()) {
    const auto waiting = ranks(block.waiting);
    out += fmt::format("{}{} in a block sync", separator, text(waiting));
    separator = ", ";
  }
  for (std::uint32_t w = 0; w < block.warps_made; ++w) {
    const WarpState& warp = block.warps[w];
    for (std::uint32_t b = 0; b < warp.open; ++b) {
      const auto waiting = ranks(warp.barriers[b].waiting);
      out += fmt::format("{}{} in a warp sync with mask {:#010x}", separator, text(waiting), warp.barriers[b].mask);
      separator = ", ";
    }
  }
  if (block.returned != 0) out += fmt::format("; {} of its {} threads returned", block.returned, block.threads);
  return out;
}

}  // namespace

std::string Launch::describe_divergence() const {
  std::vector<const cpu::BlockState*> stuck;
  const auto look = [&stuck](const cpu::BlockState& block) {
    if (block.running) stuck.push_back(&block);
  };
  look(first_block_);
  for (const auto& block : more_blocks_) look(*block);
  std::sort(stuck.begin(), stuck.end(), [](const auto* a, const auto* b) { return a->rank < b->rank; });
  std::string out = "divergent barrier: threads of a block wait in different places and none can go on; ";
  for (std::size_t i = 0; i < std::min(stuck.size(), kBlocksNamed); ++i)
    out += (i == 0 ? "" : "; ") + describe(*stuck[i]);
  if (stuck.size() > kBlocksNamed) out += fmt::format("; and {} more blocks", stuck.size() - kBlocksNamed);
  return out + ". All threads of a block, or all lanes of a mask, have to reach the same sync";
}

void Launch::stack_overflowed(Fiber& self) noexcept {
  if (!self.overflowed) {
    self.overflowed = true;
    fail(
        fmt::format("thread {} of block {} overflowed its stack of {} bytes; raise ISOTOPE_STACK_BYTES or keep large "
                    "arrays in shared "
                    "memory",
                    self.thread.thread_rank, self.thread.block_rank, rounded_stack_bytes(limits_.stack_bytes)));
  }
  // The stack below may be damaged. A fiber that rests there starts afresh; one that waits in a body is never resumed.
  self.stack.repair();
  Fiber* below = pool_->reset_below(self);
  if (below == nullptr) return;
  if (below->in_body) {
    below->abandoned = true;
  } else {
    make_context(below->context, below->stack.low, below->stack.top, &Launch::fiber_main, below);
  }
}

void Launch::abandon(Fiber& fiber) noexcept {
  fiber.abandoned = false;
  make_context(fiber.context, fiber.stack.low, fiber.stack.top, &Launch::fiber_main, &fiber);
  finish_body(fiber);
  spares_.push_front(fiber);
}

}  // namespace isotope::exec
