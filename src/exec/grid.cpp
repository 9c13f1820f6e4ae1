// Runners and the choice of who goes on.
#include "exec/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "isotope/base/error.hpp"

namespace isotope::exec {

namespace {

constinit thread_local Fiber* t_fiber = nullptr;
constinit thread_local cpu::ThreadState t_host_thread{};

// Out of turn: every so many choices a poller goes first, or a body is started, so that threads that sync in a loop
// starve no one.
constexpr std::uint32_t kPollEvery = 64;
constexpr std::uint32_t kStartEvery = 1024;

std::string what_was_thrown() {
  try {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an object that is no std::exception";
  }
}

}  // namespace

Fiber* current_fiber() noexcept { return t_fiber; }

void run_grid(const GridSpec& spec, const ExecLimits& limits, const std::function<void()>& body) {
  check_grid(spec, limits);
  if (t_fiber != nullptr) {
    throw Error(Code::invalid_argument,
                "a kernel cannot be run from inside a kernel; launch it on a stream from the host");
  }
  Launch(spec, limits, body).run();
}

Launch::Launch(const GridSpec& spec, const ExecLimits& limits, const std::function<void()>& body)
    : spec_(spec),
      limits_(limits),
      body_(body),
      block_threads_(static_cast<std::uint32_t>(spec.block.count())),
      total_(static_cast<std::uint32_t>(spec.grid.count() * spec.block.count())) {
  adopt_this_thread(main_.context);
  main_.launch = this;
  free_blocks_ = &first_block_;
}

Launch::~Launch() {
  if (pool_ == nullptr) return;
  FiberList back;
  while (Fiber* fiber = spares_.pop()) {
    if (fiber != &main_) back.push(*fiber);
  }
  back.splice(fresh_);
  pool_->give(back);
}

void Launch::run() {
  t_fiber = &main_;
  // The last body may end on another runner: then that one switches here.
  do {
    run_and_park(main_);
  } while (returned_ != total_);
  t_fiber = nullptr;
  if (failed_) throw Error(Code::kernel_failed, failure_);
}

void Launch::fiber_main(void* fiber) noexcept {
  // A fiber outlives its launches: it parks inside run_and_park and wakes up in a later one, on another thread maybe.
  for (auto& self = *static_cast<Fiber*>(fiber);;) self.launch->run_and_park(self);
}

// Runs bodies on this stack while nobody else is waiting for a turn, then parks. Comes back when there is another body
// to start here, which for a fiber may be in a later launch: nothing of this one may be touched after the switch.
void Launch::run_and_park(Fiber& self) noexcept {
  do {
    start_body(self);
    call_body(self);
    finish_body(self);
  } while (next_ < total_ && ready_.empty());
  spares_.push_front(self);
  if (returned_ == total_) {
    if (&self != &main_) switch_from(self, main_);
    return;
  }
  go_on_from(self);
}

void Launch::start_body(Fiber& self) noexcept {
  if (next_rank_ == 0) starting_ = &begin_block();
  self.thread.thread_index = next_thread_;
  self.thread.block_index = starting_->index;
  self.thread.block_dim = spec_.block;
  self.thread.grid_dim = spec_.grid;
  self.thread.thread_rank = next_rank_;
  self.thread.block_rank = starting_->rank;
  self.thread.block_threads = block_threads_;
  self.thread.block = starting_;
  self.last_polls = ~0u;
  self.in_body = true;
  self.overflowed = false;
  ++next_;
  if (++next_rank_ == block_threads_) {
    next_rank_ = 0;
    next_thread_ = {0, 0, 0};
    return;
  }
  if (++next_thread_.x == spec_.block.x) {
    next_thread_.x = 0;
    if (++next_thread_.y == spec_.block.y) {
      next_thread_.y = 0;
      ++next_thread_.z;
    }
  }
}

cpu::BlockState& Launch::begin_block() noexcept {
  if (free_blocks_ == nullptr) {
    more_blocks_.push_back(std::make_unique<cpu::BlockState>());
    free_blocks_ = more_blocks_.back().get();
  }
  cpu::BlockState& block = *free_blocks_;
  free_blocks_ = block.next_free;
  block.index = next_block_;
  block.rank = next_block_rank_++;
  block.threads = block_threads_;
  block.returned = block.arrived = 0;
  block.syncs = 0;
  block.dissent[0] = block.dissent[1] = 0;
  block.dynamic_bytes = spec_.shared_bytes;
  block.running = true;
  std::fill_n(block.returned_lanes, (block_threads_ + cpu::kWarpSize - 1) / cpu::kWarpSize, 0u);
  if (++next_block_.x == spec_.grid.x) {
    next_block_.x = 0;
    if (++next_block_.y == spec_.grid.y) {
      next_block_.y = 0;
      ++next_block_.z;
    }
  }
  return block;
}

void Launch::call_body(Fiber& self) noexcept {
  try {
    body_();
  } catch (...) {
    const cpu::ThreadState& t = self.thread;
    fail(fmt::format("thread {} of block {} threw: {}", t.thread_rank, t.block_rank, what_was_thrown()));
  }
  if (self.stack.overflowed(__builtin_frame_address(0))) stack_overflowed(self);
}

void Launch::finish_body(Fiber& self) noexcept {
  cpu::BlockState& block = *self.thread.block;
  const std::uint32_t warp = self.thread.thread_rank / cpu::kWarpSize;
  self.in_body = false;
  progress();
  ++returned_;
  ++block.returned;
  block.returned_lanes[warp] |= 1u << self.thread.thread_rank % cpu::kWarpSize;
  // Who has returned counts as arrived everywhere.
  if (block.arrived != 0 && block.arrived + block.returned == block.threads) release_block(block);
  if (block.warps_made != 0) lane_returned(block, warp);
  if (block.returned == block.threads) {
    block.running = false;
    block.shared.clear();
    block.next_free = free_blocks_;
    free_blocks_ = &block;
  }
}

Fiber& Launch::take_next() noexcept {
  for (;;) {
    Fiber* fiber = choose();
    if (fiber == nullptr) {
      // Nobody can run or be started, and nobody polls: all that is left waits in syncs.
      fail(describe_divergence());
      drain();
      continue;
    }
    if (!fiber->abandoned) return *fiber;
    abandon(*fiber);
    if (returned_ == total_) return main_;
  }
}

Fiber* Launch::choose() noexcept {
  ++picks_;
  // The rarer turn comes first: its numbers are multiples of the other's.
  if (picks_ % kStartEvery == 0 && can_start()) {
    if (Fiber* fiber = runner_to_start()) return fiber;
  }
  if (picks_ % kPollEvery == 0) {
    if (Fiber* fiber = polling_.pop()) return fiber;
  }
  if (Fiber* fiber = ready_.pop()) return fiber;
  if (can_start()) {
    if (Fiber* fiber = runner_to_start()) return fiber;
    if (Fiber* fiber = ready_.pop()) return fiber;
  }
  return polling_.pop();
}

// A runner for the next body. Null, with the failure recorded and everybody in a sync released, when there is no memory
// for one.
Fiber* Launch::runner_to_start() noexcept {
  if (Fiber* fiber = spares_.pop()) return fiber;
  if (fresh_.empty()) {
    if (pool_ == nullptr) pool_ = &FiberPool::of(limits_.stack_bytes);
    // As many as were needed so far: few locks, few fibers too many.
    const std::uint32_t count = std::min(total_ - next_, std::max(16u, fibers_taken_));
    fresh_ = pool_->take(count, *this, &Launch::fiber_main);
    fibers_taken_ += fresh_.size();
  }
  if (Fiber* fiber = fresh_.pop()) return fiber;
  no_more_fibers_ = true;
  fail(fmt::format(
      "there is no room for the stack of another kernel thread: {} of {} bytes each are in use; use a smaller "
      "grid or lower ISOTOPE_STACK_BYTES",
      fibers_taken_, rounded_stack_bytes(limits_.stack_bytes)));
  drain();
  return nullptr;
}

// Runs others until `self`, which is in one of the lists now, is chosen again.
void Launch::go_on_from(Fiber& self) noexcept {
  // Before the choice: it must not fall on a fiber whose stack this one ran into.
  if (self.in_body && self.stack.overflowed(__builtin_frame_address(0))) stack_overflowed(self);
  Fiber& next = take_next();
  if (&next != &self) switch_from(self, next);
}

void Launch::switch_from(Fiber& self, Fiber& next) noexcept {
  t_fiber = &next;
  switch_context(self.context, next.context);
}

// Lets the others run once. The caller stays runnable.
void Launch::give_turn(Fiber& self) noexcept {
  polling_.push(self);
  go_on_from(self);
}

void Launch::relax(Fiber& self, std::uint32_t failed_polls) noexcept {
  if (failed_polls <= self.last_polls) progress();  // a new wait, so the one before was met
  self.last_polls = failed_polls;
  if (ready_.empty() && !can_start()) {
    // Everyone left polls. A round of all of them without success is one step of waiting.
    if (polling_.empty()) {
      idle_.step();
      return;
    }
    if (++failed_in_a_row_ > polling_.size()) {
      failed_in_a_row_ = 0;
      idle_.step(polling_.size() + 1);
    }
  }
  give_turn(self);
}

void Launch::fail(std::string message) noexcept {
  if (failed_) return;
  failed_ = true;
  failure_ = std::move(message);
}

}  // namespace isotope::exec

namespace isotope::cpu {

ThreadState& this_thread_state() noexcept {
  exec::Fiber* fiber = exec::t_fiber;
  return fiber != nullptr ? fiber->thread : exec::t_host_thread;
}

}  // namespace isotope::cpu
