// State of one running block and of its warps: who arrived where, what crosses lanes, and shared memory. All of it is
// touched by one operating-system thread only, so nothing here is atomic.
#pragma once

#include <cstdint>
#include <memory>

#include "exec/fiber.hpp"
#include "exec/shared.hpp"
#include "isotope/host/launch.hpp"
#include "isotope/platform/cpu/thread.hpp"

namespace isotope::exec {

inline constexpr std::uint32_t kMaxWarps = static_cast<std::uint32_t>(kMaxBlockThreads) / cpu::kWarpSize;

/// What a lane came to a warp barrier for.
enum class LaneOp : std::uint8_t { sync, exchange, ballot };

/// Lanes that wait for each other: those that named the same mask.
struct WarpBarrier {
  std::uint32_t mask;  // lanes named that exist
  std::uint32_t arrived;
  std::uint32_t ballot;  // of them, those with a true predicate
  bool exchanges;        // some lane wants a result
  FiberList waiting;
};

struct WarpState {
  std::uint32_t open = 0;  // barriers in use. A lane waits at one barrier at most, so 32 are enough
  WarpBarrier barriers[cpu::kWarpSize];
  // By lane, valid while it waits: what it brought, and after the release what it takes away.
  std::uint64_t value[cpu::kWarpSize];
  std::uint32_t source[cpu::kWarpSize];
  LaneOp op[cpu::kWarpSize];
};

}  // namespace isotope::exec

namespace isotope::cpu {

struct BlockState {
  Dim3 index;
  std::uint32_t rank = 0;
  std::uint32_t threads = 0;
  std::uint32_t returned = 0;  // threads that left the kernel
  std::uint32_t arrived = 0;   // threads that wait in block_sync
  exec::FiberList waiting;     // they
  std::uint64_t syncs = 0;     // completed so far; its parity picks the broadcast slot
  std::uint64_t broadcast[2] = {};
  std::uint64_t dissent[2] = {};  // number of the sync at which some thread last said no, by its parity
  std::uint32_t returned_lanes[exec::kMaxWarps];
  std::unique_ptr<exec::WarpState[]> warps;  // made by the first warp operation
  std::uint32_t warps_made = 0;
  bool running = false;  // between its first thread's start and its last one's return
  exec::SharedArena shared;
  std::size_t dynamic_bytes = 0;
  BlockState* next_free = nullptr;

  /// Lanes of the warp that exist.
  std::uint32_t lanes(std::uint32_t warp) const noexcept {
    const std::uint32_t left = threads - warp * kWarpSize;
    return left >= kWarpSize ? ~0u : (1u << left) - 1;
  }
};

}  // namespace isotope::cpu
