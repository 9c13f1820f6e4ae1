// One launch while it runs: starts the bodies, switches between the fibers they wait on, and finds out when they never
// will go on.
//
// A runner is a stack that runs bodies one after another: first the calling thread's own, then fibers. A body that
// waits keeps its runner; the launch goes on with, in this order, a fiber released from a sync, the next body (on a
// parked runner or a new fiber), a fiber that polls. So a block usually ends before the next one needs stacks, and
// nobody starves: out of turn, now and then a poller is polled and a body started.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "exec/backoff.hpp"
#include "exec/block.hpp"
#include "exec/exec.hpp"
#include "exec/fiber.hpp"

namespace isotope::exec {

class Launch {
 public:
  Launch(const GridSpec& spec, const ExecLimits& limits, const std::function<void()>& body);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  /// Runs every body. Throws what went wrong.
  void run();

  // Called on the fiber that runs now; each may switch to others.
  void block_sync(Fiber& self) noexcept;
  /// Returns what LaneOp says: the source's value, the ballot, or nothing.
  std::uint64_t warp_meet(Fiber& self, std::uint32_t mask, LaneOp op, std::uint64_t value,
                          std::uint32_t source) noexcept;
  void relax(Fiber& self, std::uint32_t failed_polls) noexcept;

  /// Records a failure; the first one is thrown by run().
  void fail(std::string message) noexcept;

 private:
  static void fiber_main(void* fiber) noexcept;

  // runners
  void run_and_park(Fiber& self) noexcept;
  void start_body(Fiber& self) noexcept;
  void call_body(Fiber& self) noexcept;
  void finish_body(Fiber& self) noexcept;
  cpu::BlockState& begin_block() noexcept;

  // choosing
  Fiber& take_next() noexcept;
  Fiber* choose() noexcept;
  Fiber* runner_to_start() noexcept;
  bool can_start() const noexcept { return next_ < total_ && (!no_more_fibers_ || !spares_.empty()); }
  void go_on_from(Fiber& self) noexcept;
  void give_turn(Fiber& self) noexcept;
  static void switch_from(Fiber& self, Fiber& next) noexcept;
  void progress() noexcept {
    failed_in_a_row_ = 0;
    idle_.reset();
  }

  // releasing
  void release_block(cpu::BlockState& block) noexcept;
  void release_warp(WarpState& warp, std::uint32_t barrier) noexcept;
  void lane_returned(cpu::BlockState& block, std::uint32_t warp) noexcept;
  void drain() noexcept;

  // going wrong
  std::string describe_divergence() const;
  void stack_overflowed(Fiber& self) noexcept;
  void abandon(Fiber& fiber) noexcept;

  const GridSpec& spec_;
  const ExecLimits& limits_;
  const std::function<void()>& body_;
  const std::uint32_t block_threads_;
  const std::uint32_t total_;

  std::uint32_t next_ = 0;      // bodies started so far
  std::uint32_t returned_ = 0;  // bodies that ended
  Dim3 next_thread_{0, 0, 0};
  Dim3 next_block_{0, 0, 0};
  std::uint32_t next_block_rank_ = 0;
  std::uint32_t next_rank_ = 0;  // in the block
  cpu::BlockState* starting_ = nullptr;

  FiberList ready_;    // released from a sync
  FiberList polling_;  // in relax()
  FiberList spares_;   // runners with no body; last in, first out
  std::uint32_t picks_ = 0;
  std::uint32_t failed_in_a_row_ = 0;
  std::uint32_t fibers_taken_ = 0;
  Backoff idle_;

  bool draining_ = false;  // syncs wait for nobody any more
  bool no_more_fibers_ = false;
  bool failed_ = false;
  std::string failure_;

  FiberPool* pool_ = nullptr;
  FiberList fresh_;  // taken from the pool, never run in this launch
  Fiber main_;
  cpu::BlockState first_block_;
  std::vector<std::unique_ptr<cpu::BlockState>> more_blocks_;
  cpu::BlockState* free_blocks_ = nullptr;  // through BlockState::next_free
};

/// The kernel thread that runs on this operating-system thread now; null outside kernels.
Fiber* current_fiber() noexcept;

}  // namespace isotope::exec
