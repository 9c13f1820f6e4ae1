// What the limits are made of: accesses to shared words with nothing around them.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace isotope::bench {

/// The compiler may not move or drop memory accesses across it: it keeps a loop of equal operations a loop.
inline void keep_memory() { asm volatile("" ::: "memory"); }

/// Stays in a register: an operation whose result nobody uses is still made.
template <class T>
void keep(T value) {
  asm volatile("" ::"r"(value));
}

/// Lets a CPU that shares its core with the one that is waited for have more of it.
inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif  // __x86_64__
}

/// Spins until `word` is at least `value`, and yields the CPU after each `spins` polls: more PEs than CPUs need it.
inline void spin_until(std::uint64_t& word, std::uint64_t value, int spins) {
  const std::atomic_ref<std::uint64_t> found(word);
  for (int polls = 0; found.load(std::memory_order_acquire) < value;) {
    if (++polls < spins) {
      pause_cpu();
    } else {
      polls = 0;
      std::this_thread::yield();
    }
  }
}

inline void raise(std::uint64_t& word, std::uint64_t value) {
  std::atomic_ref<std::uint64_t>(word).store(value, std::memory_order_release);
}

}  // namespace isotope::bench
