// Copies by the GPU's copy engine in each multiprocessor (TMA), since sm_90: from global to shared memory, and from
// there to global memory. One thread keeps several of them under way, where a copy by loads and stores needs many
// threads.
//
// The engine reaches memory through another proxy than loads and stores do. What a thread wrote is handed to it by
// begin_bulk_copy(), and bulk_copy_share() hands back what the engine wrote.
#pragma once

#if defined(__CUDACC__)

#include <cstddef>
#include <cstdint>

#include "isotope/platform/cuda/atomic.hpp"
#include "isotope/platform/cuda/copy.hpp"

namespace isotope::cuda {

namespace bulk {

inline constexpr std::uint32_t kStages = 6;
inline constexpr std::uint32_t kMostStage = 32 * 1024, kLeastStage = 256;
/// Stores that may still read their stages when the next load begins; the other stages are loading meanwhile.
inline constexpr std::uint32_t kStoring = 2;
/// An mbarrier for each stage, before the stages.
inline constexpr std::uint32_t kHeader = 128;
static_assert(kHeader >= kStages * sizeof(std::uint64_t) && kStoring < kStages);

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
inline constexpr bool kThere = true;

ISOTOPE_DEVICE void proxy_fence() { asm volatile("fence.proxy.async;" ::: "memory"); }
/// The same for one kind of memory, which is sooner done: the general one waits for stores that are under way.
ISOTOPE_DEVICE void proxy_fence_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
ISOTOPE_DEVICE void proxy_fence_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
ISOTOPE_DEVICE void make_barrier(std::uint32_t barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
ISOTOPE_DEVICE void end_barrier(std::uint32_t barrier) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
ISOTOPE_DEVICE void arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// The barrier's phase ends with the last arrival and the last of the bytes.
ISOTOPE_DEVICE void arrive_expecting(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
ISOTOPE_DEVICE void load(std::uint32_t stage, const char* src, std::uint32_t bytes, std::uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(stage),
               "l"(__cvta_generic_to_global(src)), "r"(bytes), "r"(barrier)
               : "memory");
}
/// For copies of this thread's own block, which always end: no deadline.
ISOTOPE_DEVICE void await_load(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n\t.reg .pred p;\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  }
}
ISOTOPE_DEVICE void start_store(char* dst, std::uint32_t stage, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(dst)),
               "r"(stage), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// All stores but the last kStoring have read their stages.
ISOTOPE_DEVICE void await_stages() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kStoring) : "memory"); }
/// All stores have written, past the first-level cache, and this thread sees it. Having read their stages is not enough
/// to tell others.
ISOTOPE_DEVICE void await_stores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
#else
inline constexpr bool kThere = false;

ISOTOPE_DEVICE void proxy_fence() {}
ISOTOPE_DEVICE void proxy_fence_global() {}
ISOTOPE_DEVICE void proxy_fence_shared() {}
ISOTOPE_DEVICE void make_barrier(std::uint32_t, std::uint32_t) {}
ISOTOPE_DEVICE void end_barrier(std::uint32_t) {}
ISOTOPE_DEVICE void arrive(std::uint32_t) {}
ISOTOPE_DEVICE void arrive_expecting(std::uint32_t, std::uint32_t) {}
ISOTOPE_DEVICE void load(std::uint32_t, const char*, std::uint32_t, std::uint32_t) {}
ISOTOPE_DEVICE void await_load(std::uint32_t, std::uint32_t) {}
ISOTOPE_DEVICE void start_store(char*, std::uint32_t, std::uint32_t) {}
ISOTOPE_DEVICE void await_stages() {}
ISOTOPE_DEVICE void await_stores() {}
#endif  // sm_90

/// All of a copy of whole words of 16 bytes, by one thread.
ISOTOPE_DEVICE void copy_words(char* dst, const char* src, std::size_t bytes, char* scratch,
                               std::size_t scratch_bytes) {
  const auto barriers = static_cast<std::uint32_t>(__cvta_generic_to_shared(scratch));
  std::size_t room = (scratch_bytes - kHeader) / kStages & ~std::size_t{127};
  if (room > kMostStage) room = kMostStage;
  // A copy that fits the scratch is cut as well, so that its first piece is stored while the last one is loaded.
  constexpr std::size_t kLeastPiece = 4096;
  const std::size_t even = (bytes / kStages + 127) & ~std::size_t{127};
  if (even < room) room = even > kLeastPiece ? even : room < kLeastPiece ? room : kLeastPiece;
  const auto piece = static_cast<std::uint32_t>(room);
  const auto fill = [&](std::size_t at, std::uint32_t stage) {
    const std::size_t left = bytes - at;
    const std::uint32_t n = left < piece ? static_cast<std::uint32_t>(left) : piece, barrier = barriers + stage * 8;
    arrive_expecting(barrier, n);
    load(barriers + kHeader + stage * piece, src + at, n, barrier);
  };
  for (std::uint32_t stage = 0; stage < kStages; ++stage) make_barrier(barriers + stage * 8, 1);
  proxy_fence();         // the barriers, and what the group handed over before it met
  std::size_t next = 0;  // the first byte that no load was started for
#pragma unroll 1
  for (std::uint32_t stage = 0; stage < kStages && next < bytes; ++stage, next += piece) fill(next, stage);
  std::uint32_t stage = 0, parity = 0, refill = 0, stored = 0;
#pragma unroll 1
  for (std::size_t at = 0; at < bytes; at += piece) {
    await_load(barriers + stage * 8, parity);
    const std::size_t left = bytes - at;
    start_store(dst + at, barriers + kHeader + stage * piece, left < piece ? static_cast<std::uint32_t>(left) : piece);
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
    if (stored < kStoring) {
      ++stored;
    } else if (next < bytes) {
      await_stages();
      fill(next, refill);
      next += piece;
      if (++refill == kStages) refill = 0;
    }
  }
  await_stores();
  proxy_fence();  // back to loads and stores
  for (stage = 0; stage < kStages; ++stage) end_barrier(barriers + stage * 8);
}

}  // namespace bulk

/// Whether bulk_copy_share can make this copy: both ends in global memory, the scratch in shared memory and large
/// enough, all aligned.
ISOTOPE_DEVICE bool can_bulk_copy(const void* dst, const void* src, std::size_t bytes, const void* scratch,
                                  std::size_t scratch_bytes) {
  if constexpr (!bulk::kThere) return false;
  const auto ends = reinterpret_cast<std::uintptr_t>(dst) | reinterpret_cast<std::uintptr_t>(src);
  return bytes >= 16 && (ends & 15) == 0 && scratch_bytes >= bulk::kHeader + bulk::kStages * bulk::kLeastStage &&
         (reinterpret_cast<std::uintptr_t>(scratch) & 127) == 0 && __isShared(scratch) != 0 && __isGlobal(dst) != 0 &&
         __isGlobal(src) != 0;
}

/// Every thread of the group, before the group meets for a bulk copy: the engine sees what this thread wrote.
ISOTOPE_DEVICE void begin_bulk_copy() { bulk::proxy_fence(); }

/// This thread's part of a bulk copy. The group meets before and after. Thread 0 returns when all that it had the
/// engine write is in memory; the rest is ordinary stores.
ISOTOPE_DEVICE void bulk_copy_share(void* dst, const void* src, std::size_t bytes, std::uint32_t rank,
                                    std::uint32_t size, void* scratch, std::size_t scratch_bytes) {
  auto* to = static_cast<char*>(dst);
  const auto* from = static_cast<const char*>(src);
  const std::size_t whole = bytes & ~std::size_t{15};
  for (std::size_t i = whole + rank; i < bytes; i += size) to[i] = from[i];
  if (rank == 0) bulk::copy_words(to, from, whole, static_cast<char*>(scratch), scratch_bytes);
}

}  // namespace isotope::cuda

#endif  // __CUDACC__
