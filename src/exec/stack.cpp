// Slabs of fiber stacks: mapping, guards, landing lines.
#include "exec/stack.hpp"

#include <atomic>
#include <new>

#include "exec/sanitizer.hpp"
#include "os/thread.hpp"

namespace isotope::exec {

namespace {

constexpr std::uint64_t kLandingWord = 0x49534f5f4c414e44;  // unlikely as data, not a pointer
constexpr std::size_t kLandingBytes = kLandingWords * sizeof(std::uint64_t);
constexpr std::size_t kColourBytes = 128;

std::atomic<std::uint32_t> guard_limit{kMaxGuards};
std::atomic<std::uint32_t> guards_in_use{0};

bool reserve_guards(std::uint32_t count) noexcept {
  std::uint32_t used = guards_in_use.load(std::memory_order_relaxed);
  do {
    if (used + count > guard_limit.load(std::memory_order_relaxed)) return false;
  } while (!guards_in_use.compare_exchange_weak(used, used + count, std::memory_order_relaxed));
  return true;
}

}  // namespace

bool Stack::overflowed(const void* frame) const noexcept {
  if (landing == nullptr) return false;
  std::uint64_t changed = 0;
  for (std::size_t i = 0; i < kLandingWords; ++i) changed |= landing[i] ^ kLandingWord;
  return changed != 0 || static_cast<const char*>(frame) < low;
}

void Stack::repair() const noexcept {
  if (landing == nullptr) return;
  for (std::size_t i = 0; i < kLandingWords; ++i) landing[i] = kLandingWord;
}

std::size_t rounded_stack_bytes(std::size_t stack_bytes) noexcept {
  if (stack_bytes < kMinStackBytes) stack_bytes = kMinStackBytes;
  const std::size_t page = os::page_bytes();
  return (stack_bytes + page - 1) / page * page;
}

std::unique_ptr<StackSlab> StackSlab::map(std::size_t stack_bytes, std::uint32_t count) noexcept {
  const std::size_t page = os::page_bytes();
  const std::size_t slot_bytes = rounded_stack_bytes(stack_bytes) + 2 * page;
  std::size_t bytes = 0;
  if (slot_bytes < stack_bytes || __builtin_mul_overflow(slot_bytes, count, &bytes) || bytes + page < bytes)
    return nullptr;
  bytes += page;  // in front: the landing line of slot 0
  auto* base = static_cast<char*>(os::map_stacks(bytes));
  if (base == nullptr) return nullptr;
  std::unique_ptr<StackSlab> slab(new (std::nothrow) StackSlab(base, bytes, slot_bytes, count));
  if (!slab) {
    os::unmap_stacks(base, bytes);
    return nullptr;
  }
  if (!slab->protect()) {
    for (std::uint32_t i = 0; i < count; ++i) slab->stack(i).repair();
  }
  return slab;
}

bool StackSlab::protect() noexcept {
  if (!reserve_guards(count_)) return false;
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (!os::protect_range(slot(i), os::page_bytes())) {
      // Out of mappings. The guards made so far stay and do no harm; the slab counts as unguarded.
      guards_in_use.fetch_sub(count_, std::memory_order_relaxed);
      return false;
    }
  }
  guards_ = count_;
  return true;
}

StackSlab::~StackSlab() {
  allow_memory(base_, bytes_);
  os::unmap_stacks(base_, bytes_);
  guards_in_use.fetch_sub(guards_, std::memory_order_relaxed);
}

char* StackSlab::slot(std::uint32_t index) const noexcept { return base_ + os::page_bytes() + index * slot_bytes_; }

Stack StackSlab::stack(std::uint32_t index) const noexcept {
  const std::size_t page = os::page_bytes();
  char* begin = slot(index);
  Stack stack;
  stack.low = begin + page;
  stack.top = begin + slot_bytes_ - kLandingBytes - (index % 24) * kColourBytes;
  if (!guarded()) stack.landing = reinterpret_cast<std::uint64_t*>(begin - kLandingBytes);
  return stack;
}

std::uint32_t StackSlab::set_guard_limit(std::uint32_t limit) noexcept { return guard_limit.exchange(limit); }

}  // namespace isotope::exec
