// How a wait that is not met yet spends its time: spins, then yields the CPU, and after some milliseconds sleeps.
#pragma once

#include <atomic>
#include <cstdint>

namespace isotope::exec {

/// One pause of the processor, some 40 ns.
inline void pause_cpu() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif  // processor
}

/// Where PEs outnumber the CPUs, whoever is waited for may be waiting for this CPU: then waits yield at once. A
/// property of the process, told by whoever knows how many PEs there are.
void set_crowded(bool crowded) noexcept;
bool is_crowded() noexcept;

class Backoff {
 public:
  static constexpr std::uint32_t kSpins = 32;
  static constexpr std::uint64_t kYieldNs = 2'000'000;
  static constexpr std::uint64_t kShortestSleepNs = 50'000;
  static constexpr std::uint64_t kLongestSleepNs = 500'000;

  /// Something went on: the next steps spin again.
  void reset() noexcept {
    spins_ = 0;
    since_ns_ = 0;
  }
  /// One step of waiting, after `polls` polls that failed.
  void step(std::uint32_t polls = 1) noexcept {
    if (spins_ < kSpins && !is_crowded()) {
      spins_ += polls;
      pause_cpu();
    } else {
      step_slow();
    }
  }
  /// When the yielding began; 0 while it spins, and after something went on.
  std::uint64_t waiting_since_ns() const noexcept { return since_ns_; }
  bool waited_longer_than(std::uint64_t ns) const noexcept;
  bool spinning() const noexcept { return spins_ < kSpins && !is_crowded(); }

 private:
  void step_slow() noexcept;

  std::uint32_t spins_ = 0;
  std::uint64_t since_ns_ = 0;  // when the spinning ended
};

}  // namespace isotope::exec
