// Which platform the kernels of a job run on: what each PE wishes and has, and what all of them make of it.
//
// ISOTOPE_PLATFORM=cuda or cpu is an order. A PE without orders (auto) takes a GPU if it can and goes along with the
// others: if one PE of the job cannot use its GPU, all of them run on the CPU, and PE 0 says why.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "runtime/gpu_pe.hpp"
#include "runtime/knobs.hpp"
#include "runtime/outcome.hpp"

namespace isotope::runtime {

inline constexpr std::int32_t kNoDevice = -1;
inline constexpr std::int32_t kNoDeviceKnown = -2;  // asked for one and cannot have it

/// What ISOTOPE_PLATFORM asks for.
enum class Wish : std::uint8_t { any, cpu, cuda };

/// What a PE says about it when it joins. Plain data.
struct PlatformBid {
  std::int32_t device = kNoDevice;  // the GPU that it would drive
  Wish wish = Wish::any;
  std::uint8_t fabric = 0;          // that GPU's memory can travel as fabric handles
  std::uint64_t heap_max = 0;       // cap of its symmetric heap there
  std::uint64_t host_heap_max = 0;  // and on the CPU
  char why_not[500] = {};           // it was free to choose, and could not use the GPU that it chose
};

/// A bid and what it rests on.
struct Bidder {
  PlatformBid bid;
  std::shared_ptr<GpuHold> gpu;  // null on the CPU
  Outcome outcome;               // a failure to tell in the next round, so that all throw alike
};
Bidder make_bid(const Knobs& knobs, const bootstrap::Bootstrap& boot);

/// The same on every PE.
struct PlatformChoice {
  bool gpus = false;
  bool may_change = false;         // nobody asks for GPUs: should they turn out to be of no use, the CPU will do
  bool fabric = false;             // memory travels as fabric handles: they work on every PE
  std::uint64_t largest_heap = 0;  // that any PE may have, also after a change
  std::string why_cpu;             // empty where nobody has to be told
};
/// Throws Error(refused) where one PE asks for GPUs and another is without.
PlatformChoice choose_platform(const std::vector<PlatformBid>& bids, int rank);

/// One line a job: it was left to us, GPUs were in sight, and kernels run on the CPU.
void tell_of_cpu(int rank, const std::string& why);

}  // namespace isotope::runtime
