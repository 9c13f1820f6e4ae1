// Where copies by the GPU's engine (bulk_copy.hpp) land in shared memory, and how a block learns of it: an mbarrier
// that serves once. platform/landing_by_word.hpp says what each call promises. Since sm_90; before, nobody asks.
#pragma once

#if defined(__CUDACC__)

#include <cstdint>

#include "isotope/platform/cuda/bulk_copy.hpp"

namespace isotope::cuda {

inline constexpr bool kLandsByEngine = bulk::kThere;

/// By a thread that has acquired what is in global memory, before it asks for copies of it.
ISOTOPE_DEVICE void before_landing() { bulk::proxy_fence_global(); }

class Landing {
 public:
  ISOTOPE_DEVICE void begin(std::uint32_t arrivals) {
    bulk::make_barrier(address(), arrivals);
    bulk::proxy_fence_shared();
  }
  ISOTOPE_DEVICE void arrive() { bulk::arrive(address()); }
  ISOTOPE_DEVICE void arrive_expecting(std::uint32_t bytes) { bulk::arrive_expecting(address(), bytes); }
  ISOTOPE_DEVICE void land(void* place, const void* src, std::uint32_t bytes) {
    bulk::load(static_cast<std::uint32_t>(__cvta_generic_to_shared(place)), static_cast<const char*>(src), bytes,
               address());
  }
  /// Copies always end, and who arrives has a deadline: none here.
  ISOTOPE_DEVICE void await() const { bulk::await_load(address(), 0); }

 private:
  ISOTOPE_DEVICE std::uint32_t address() const { return static_cast<std::uint32_t>(__cvta_generic_to_shared(&word_)); }

  std::uint64_t word_;
};

}  // namespace isotope::cuda

#endif  // __CUDACC__
