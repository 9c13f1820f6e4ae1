// Which sanitizer this build carries, in one spelling for g++ and clang++, and the few of their calls that fibers and
// shared memory need. Everything here is empty in a plain build.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define ISOTOPE_ASAN 1
#endif  // g++ and address
#if defined(__SANITIZE_THREAD__)
#define ISOTOPE_TSAN 1
#endif  // g++ and thread
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ISOTOPE_ASAN 1
#endif  // clang++ and address
#if __has_feature(thread_sanitizer)
#define ISOTOPE_TSAN 1
#endif  // clang++ and thread
#endif  // __has_feature
#if !defined(ISOTOPE_ASAN)
#define ISOTOPE_ASAN 0
#endif  // ISOTOPE_ASAN
#if !defined(ISOTOPE_TSAN)
#define ISOTOPE_TSAN 0
#endif  // ISOTOPE_TSAN

// Declared here and not included: the sanitizers' headers are a package of their own that a compiler may lack.
#if ISOTOPE_ASAN
extern "C" {
void __sanitizer_start_switch_fiber(void** fake_stack_save, const void* bottom, std::size_t bytes);
void __sanitizer_finish_switch_fiber(void* fake_stack_save, const void** bottom_old, std::size_t* bytes_old);
void __asan_poison_memory_region(const volatile void* data, std::size_t bytes);
void __asan_unpoison_memory_region(const volatile void* data, std::size_t bytes);
}
#endif  // ISOTOPE_ASAN
#if ISOTOPE_TSAN
extern "C" {
void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}
#endif  // ISOTOPE_TSAN

namespace isotope::exec {

/// Touching [data, data + bytes) is an error from now on (address sanitizer).
inline void forbid_memory([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t bytes) {
#if ISOTOPE_ASAN
  __asan_poison_memory_region(data, bytes);
#endif  // ISOTOPE_ASAN
}

inline void allow_memory([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t bytes) {
#if ISOTOPE_ASAN
  __asan_unpoison_memory_region(data, bytes);
#endif  // ISOTOPE_ASAN
}

}  // namespace isotope::exec
