// The pool of fibers.
#include "exec/fiber.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

namespace isotope::exec {

namespace {

constexpr std::uint32_t kFirstSlab = 64;
constexpr std::uint32_t kLargestSlab = 1024;
constexpr std::size_t kLargestSlabBytes = std::size_t{1} << 30;
constexpr std::uint32_t kMostMapped = ISOTOPE_TSAN ? 7168 : ~0u;

std::atomic<std::uint32_t> mapped_by_all{0};

}  // namespace

FiberPool& FiberPool::of(std::size_t stack_bytes) {
  // Never destroyed: threads of the library may still run kernels while static objects go.
  static std::mutex& mutex = *new std::mutex;
  static auto& pools = *new std::vector<std::unique_ptr<FiberPool>>;
  const std::size_t rounded = rounded_stack_bytes(stack_bytes);
  std::lock_guard lock(mutex);
  for (const auto& pool : pools) {
    if (pool->stack_bytes_ == rounded) return *pool;
  }
  pools.emplace_back(new FiberPool(rounded));
  return *pools.back();
}

FiberList FiberPool::take(std::uint32_t count, Launch& launch, void (*entry)(void*)) noexcept {
  FiberList taken;
  std::lock_guard lock(mutex_);
  // Older slabs first: they have guard pages, and warm ones stay warm.
  for (std::size_t i = 0; taken.size() < count; ++i) {
    FiberSlab* slab = i < slabs_.size() ? slabs_[i].get() : grow(count - taken.size());
    if (slab == nullptr) break;
    while (taken.size() < count && !slab->idle.empty()) {
      Fiber& fiber = *slab->idle.pop();
      --idle_;
      fiber.launch = &launch;
      if (fiber.context.sp == nullptr) make_context(fiber.context, fiber.stack.low, fiber.stack.top, entry, &fiber);
      taken.push(fiber);
    }
  }
  return taken;
}

void FiberPool::give(FiberList fibers) noexcept {
  std::lock_guard lock(mutex_);
  recent_ = std::max(mapped_ - idle_, recent_ - recent_ / 16);
  idle_ += fibers.size();
  while (Fiber* fiber = fibers.pop()) {
    fiber->launch = nullptr;
    fiber->slab->idle.push_front(*fiber);
  }
  if (const std::uint32_t kept = std::max(kAlwaysKept, recent_); idle_ > kept) trim(kept);
}

Fiber* FiberPool::reset_below(const Fiber& fiber) noexcept {
  std::lock_guard lock(mutex_);
  const std::ptrdiff_t index = &fiber - fiber.slab->fibers.get();
  if (index == 0) return nullptr;
  Fiber& below = fiber.slab->fibers[static_cast<std::size_t>(index - 1)];
  if (below.launch == nullptr) below.context.sp = nullptr;
  return below.launch == fiber.launch ? &below : nullptr;
}

FiberSlab* FiberPool::grow(std::uint32_t wanted) noexcept {
  const std::uint32_t fit =
      static_cast<std::uint32_t>(std::min<std::size_t>(kLargestSlabBytes / stack_bytes_, kLargestSlab));
  const std::uint32_t count = std::max(1u, std::min(fit, std::max({kFirstSlab, wanted, mapped_})));
  if (count > kMostMapped - mapped_by_all.load(std::memory_order_relaxed)) return nullptr;
  auto stacks = StackSlab::map(stack_bytes_, count);
  if (!stacks) return nullptr;
  try {
    auto slab = std::make_unique<FiberSlab>();
    slab->stacks = std::move(stacks);
    slab->fibers = std::make_unique<Fiber[]>(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      slab->fibers[i].stack = slab->stacks->stack(i);
      slab->fibers[i].slab = slab.get();
      slab->idle.push(slab->fibers[i]);
    }
    slabs_.push_back(std::move(slab));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  idle_ += count;
  mapped_ += count;
  mapped_by_all += count;
  return slabs_.back().get();
}

void FiberPool::trim(std::uint32_t kept) noexcept {
  for (std::size_t i = slabs_.size(); i-- > 0 && idle_ > kept;) {
    FiberSlab& slab = *slabs_[i];
    const std::uint32_t count = slab.stacks->count();
    if (slab.idle.size() != count || idle_ - count < kept) continue;
    for (std::uint32_t k = 0; k < count; ++k) drop_context(slab.fibers[k].context);
    idle_ -= count;
    mapped_ -= count;
    mapped_by_all -= count;
    slabs_.erase(slabs_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::uint32_t FiberPool::idle() const noexcept {
  std::lock_guard lock(mutex_);
  return idle_;
}

std::uint32_t FiberPool::mapped() const noexcept {
  std::lock_guard lock(mutex_);
  return mapped_;
}

}  // namespace isotope::exec
