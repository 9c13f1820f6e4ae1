// Fibers: a context with a stack and the identity of the kernel thread it runs, lists of them, and the process-wide
// pool that keeps them between launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "exec/context.hpp"
#include "exec/stack.hpp"
#include "isotope/platform/cpu/thread.hpp"

namespace isotope::exec {

class Launch;
struct FiberSlab;

struct Fiber {
  cpu::ThreadState thread;  // of the body it runs now
  Context context;
  Fiber* next = nullptr;     // in whichever list holds it
  Launch* launch = nullptr;  // null while it rests in the pool
  std::uint32_t last_polls = 0;
  bool in_body = false;
  bool overflowed = false;  // said so once already
  bool abandoned = false;   // a neighbour's overflow ran into its stack: never resume it
  Stack stack;              // empty for the calling thread's own
  FiberSlab* slab = nullptr;
};

/// First in, first out, through Fiber::next.
class FiberList {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  std::uint32_t size() const noexcept { return size_; }
  Fiber* front() const noexcept { return head_; }
  void push(Fiber& fiber) noexcept {
    fiber.next = nullptr;
    (head_ == nullptr ? head_ : tail_->next) = &fiber;
    tail_ = &fiber;
    ++size_;
  }
  void push_front(Fiber& fiber) noexcept {
    fiber.next = head_;
    if (head_ == nullptr) tail_ = &fiber;
    head_ = &fiber;
    ++size_;
  }
  Fiber* pop() noexcept {
    Fiber* fiber = head_;
    if (fiber != nullptr) {
      head_ = fiber->next;
      --size_;
    }
    return fiber;
  }
  /// Moves all of `other` to the end.
  void splice(FiberList& other) noexcept {
    if (other.empty()) return;
    (head_ == nullptr ? head_ : tail_->next) = other.head_;
    tail_ = other.tail_;
    size_ += other.size_;
    other.head_ = nullptr;
    other.size_ = 0;
  }

 private:
  Fiber* head_ = nullptr;
  Fiber* tail_ = nullptr;
  std::uint32_t size_ = 0;
};

/// Stacks mapped together, with their fibers.
struct FiberSlab {
  std::unique_ptr<StackSlab> stacks;
  std::unique_ptr<Fiber[]> fibers;
  FiberList idle;
};

/// All fibers of one stack size. A fiber given back stays parked with its context and the pages it touched, so that the
/// next launch pays for neither. A pool keeps as many as recent launches used, and kAlwaysKept in any case; slabs
/// beyond that go back to the system.
class FiberPool {
 public:
  static constexpr std::uint32_t kAlwaysKept = ISOTOPE_TSAN ? 1024 : 4096;

  /// The pool for this stack size. Pools live as long as the process.
  static FiberPool& of(std::size_t stack_bytes);

  /// Takes up to `count` fibers for `launch`, whose contexts run `entry` when they are new. None only when the system
  /// has no memory left, or the thread sanitizer, which ends the process at 8128 threads and fibers, no numbers.
  FiberList take(std::uint32_t count, Launch& launch, void (*entry)(void*)) noexcept;
  void give(FiberList fibers) noexcept;
  /// The fiber whose stack lies right below this one's may have been written over: it starts afresh if it rests here.
  /// Returns it if it belongs to the same launch, and null otherwise.
  Fiber* reset_below(const Fiber& fiber) noexcept;

  std::uint32_t idle() const noexcept;
  std::uint32_t mapped() const noexcept;

 private:
  explicit FiberPool(std::size_t stack_bytes) : stack_bytes_(stack_bytes) {}
  FiberSlab* grow(std::uint32_t wanted) noexcept;
  void trim(std::uint32_t kept) noexcept;

  const std::size_t stack_bytes_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<FiberSlab>> slabs_;
  std::uint32_t idle_ = 0;
  std::uint32_t mapped_ = 0;
  std::uint32_t recent_ = 0;  // most in use at once, fading with every launch that uses the pool
};

}  // namespace isotope::exec
