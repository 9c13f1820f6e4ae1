// Where copies from global to shared memory land, and how a block learns of it: on the CPU the thread that asks makes
// the copy.
//
// A Landing serves once: it is begun with a number of arrivals, and is met when all of them have come and what they
// expect has landed. Where an engine makes the copies (platform/cuda/landing.hpp), the threads go on meanwhile.
#pragma once

#include <cstdint>
#include <cstring>

#include "isotope/platform/cpu/atomic.hpp"
#include "isotope/platform/cpu/thread.hpp"

namespace isotope::cpu {

/// Whether copies land while the threads do something else.
inline constexpr bool kLandsByEngine = false;

/// By a thread that has acquired what is in global memory, before it asks for copies of it.
inline void before_landing() {}

class Landing {
 public:
  /// By one thread, before the block meets.
  void begin(std::uint32_t arrivals) {
    missing_ = arrivals;
    bytes_ = 0;
  }
  /// What the thread wrote before is there for those who await the landing.
  void arrive() { fetch_sub<Order::release, Scope::block>(&missing_, std::uint32_t{1}); }
  /// The same, and that many bytes land before it is met. They may be asked for before or after, by any thread of the
  /// block.
  void arrive_expecting(std::uint32_t bytes) {
    fetch_add<Order::relaxed, Scope::block>(&bytes_, bytes);
    arrive();
  }
  /// A copy of whole words of 16 bytes, both ends aligned to them.
  void land(void* place, const void* src, std::uint32_t bytes) {
    std::memcpy(place, src, bytes);
    fetch_sub<Order::release, Scope::block>(&bytes_, bytes);
  }
  void await() const {
    for (std::uint32_t polls = 0; !is_met();) relax(++polls);
  }

 private:
  // Once nobody is missing all bytes that are expected are counted.
  bool is_met() const {
    return load<Order::acquire, Scope::block>(&missing_) == 0 && load<Order::acquire, Scope::block>(&bytes_) == 0;
  }

  std::uint32_t missing_, bytes_;
};

}  // namespace isotope::cpu
