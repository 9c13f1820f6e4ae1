// The functions that code compiled with -fsanitize=thread calls at every access. The compiler's own library for them is
// not linked: these look at the shadow instead.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "check/memory.hpp"
#include "check/scheduler.hpp"
#include "check/words.hpp"

namespace {

using isotope::Order;
using isotope::Scope;
using isotope::check::Scheduler;
using isotope::check::Task;
using isotope::sim::Change;

inline void plain(const void* address, std::size_t bytes, std::uint8_t flags, const void* pc) {
  Task* task = Scheduler::current();
  if (task == nullptr || task->bookkeeping != 0) return;
  isotope::check::memory().shadow().access(*task, reinterpret_cast<std::uintptr_t>(address), bytes, flags,
                                           Scope::system, pc);
}

Order order_of(int order) {
  switch (order) {
    case __ATOMIC_RELAXED:
      return Order::relaxed;
    case __ATOMIC_CONSUME:
    case __ATOMIC_ACQUIRE:
      return Order::acquire;
    case __ATOMIC_RELEASE:
      return Order::release;
    case __ATOMIC_ACQ_REL:
      return Order::acq_rel;
    default:
      return Order::seq_cst;
  }
}

void called_in_kernel(const void* to, const void* from, std::size_t bytes, const void* pc) {
  const Task* task = Scheduler::current();
  if (task == nullptr || task->kind != isotope::check::TaskKind::kernel) return;
  if (from != nullptr) plain(from, bytes, 0, pc);
  plain(to, bytes, isotope::check::kWrite, pc);
}

}  // namespace

#define ISOTOPE_PC __builtin_return_address(0)

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_ignore_thread_begin() {}
void __tsan_ignore_thread_end() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define ISOTOPE_PLAIN(n)                                                                                \
  void __tsan_read##n(void* p) { plain(p, n, 0, ISOTOPE_PC); }                                          \
  void __tsan_write##n(void* p) { plain(p, n, isotope::check::kWrite, ISOTOPE_PC); }                    \
  void __tsan_volatile_read##n(void* p) { plain(p, n, 0, ISOTOPE_PC); }                                 \
  void __tsan_volatile_write##n(void* p) { plain(p, n, isotope::check::kWrite, ISOTOPE_PC); }           \
  void __tsan_unaligned_volatile_read##n(void* p) { plain(p, n, 0, ISOTOPE_PC); }                       \
  void __tsan_unaligned_volatile_write##n(void* p) { plain(p, n, isotope::check::kWrite, ISOTOPE_PC); } \
  void __tsan_unaligned_read##n(void* p) { plain(p, n, 0, ISOTOPE_PC); }                                \
  void __tsan_unaligned_write##n(void* p) { plain(p, n, isotope::check::kWrite, ISOTOPE_PC); }          \
  void __tsan_read_write##n(void* p) {                                                                  \
    plain(p, n, 0, ISOTOPE_PC);                                                                         \
    plain(p, n, isotope::check::kWrite, ISOTOPE_PC);                                                    \
  }                                                                                                     \
  void __tsan_unaligned_read_write##n(void* p) {                                                        \
    plain(p, n, 0, ISOTOPE_PC);                                                                         \
    plain(p, n, isotope::check::kWrite, ISOTOPE_PC);                                                    \
  }
ISOTOPE_PLAIN(1)
ISOTOPE_PLAIN(2)
ISOTOPE_PLAIN(4)
ISOTOPE_PLAIN(8)
ISOTOPE_PLAIN(16)

void __tsan_read_range(void* p, std::size_t bytes) { plain(p, bytes, 0, ISOTOPE_PC); }
void __tsan_write_range(void* p, std::size_t bytes) { plain(p, bytes, isotope::check::kWrite, ISOTOPE_PC); }

void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  isotope::check::copy_bytes(to, from, bytes, ISOTOPE_PC);
  return to;
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  isotope::check::copy_bytes(to, from, bytes, ISOTOPE_PC);
  return to;
}
void* __tsan_memset(void* to, int value, std::size_t bytes) {
  plain(to, bytes, isotope::check::kWrite, ISOTOPE_PC);
  return std::memset(to, value, bytes);
}

// g++ leaves the larger ones as calls of the C library. The linker sends those here (-Wl,--wrap), the runtime's own
// with them: kernels are what counts.
void* __real_memcpy(void* to, const void* from, std::size_t bytes);
void* __real_memmove(void* to, const void* from, std::size_t bytes);
void* __real_memset(void* to, int value, std::size_t bytes);

void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  called_in_kernel(to, from, bytes, ISOTOPE_PC);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  called_in_kernel(to, from, bytes, ISOTOPE_PC);
  return __real_memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
  called_in_kernel(to, nullptr, bytes, ISOTOPE_PC);
  return __real_memset(to, value, bytes);
}

#define ISOTOPE_CHANGES(bits, type, name, change)                                                            \
  type __tsan_atomic##bits##_##name(volatile type* p, type value, int order) {                               \
    return static_cast<type>(isotope::check::change_word(const_cast<type*>(p), sizeof(type), change,         \
                                                         static_cast<std::uint64_t>(value), order_of(order), \
                                                         Scope::system, ISOTOPE_PC));                        \
  }

#define ISOTOPE_ATOMICS(bits, type)                                                                                    \
  type __tsan_atomic##bits##_load(const volatile type* p, int order) {                                                 \
    return static_cast<type>(isotope::check::load_word(const_cast<const type*>(p), sizeof(type), order_of(order),      \
                                                       Scope::system, ISOTOPE_PC));                                    \
  }                                                                                                                    \
  void __tsan_atomic##bits##_store(volatile type* p, type value, int order) {                                          \
    isotope::check::store_word(const_cast<type*>(p), sizeof(type), static_cast<std::uint64_t>(value), order_of(order), \
                               Scope::system, ISOTOPE_PC);                                                             \
  }                                                                                                                    \
  ISOTOPE_CHANGES(bits, type, exchange, Change::exchange)                                                              \
  ISOTOPE_CHANGES(bits, type, fetch_add, Change::add)                                                                  \
  ISOTOPE_CHANGES(bits, type, fetch_sub, Change::sub)                                                                  \
  ISOTOPE_CHANGES(bits, type, fetch_and, Change::bit_and)                                                              \
  ISOTOPE_CHANGES(bits, type, fetch_or, Change::bit_or)                                                                \
  ISOTOPE_CHANGES(bits, type, fetch_xor, Change::bit_xor)                                                              \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type* p, type* expected, type desired, int order, int) {  \
    const type found = static_cast<type>(isotope::check::replace_word(                                                 \
        const_cast<type*>(p), sizeof(type), static_cast<std::uint64_t>(*expected),                                     \
        static_cast<std::uint64_t>(desired), order_of(order), Scope::system, ISOTOPE_PC));                             \
    const bool done = found == *expected;                                                                              \
    *expected = found;                                                                                                 \
    return done ? 1 : 0;                                                                                               \
  }                                                                                                                    \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type* p, type* expected, type desired, int order,           \
                                                  int failed) {                                                        \
    return __tsan_atomic##bits##_compare_exchange_strong(p, expected, desired, order, failed);                         \
  }                                                                                                                    \
  type __tsan_atomic##bits##_compare_exchange_val(volatile type* p, type expected, type desired, int order,            \
                                                  int failed) {                                                        \
    __tsan_atomic##bits##_compare_exchange_strong(p, &expected, desired, order, failed);                               \
    return expected;                                                                                                   \
  }
ISOTOPE_ATOMICS(8, std::uint8_t)
ISOTOPE_ATOMICS(16, std::uint16_t)
ISOTOPE_ATOMICS(32, std::uint32_t)
ISOTOPE_ATOMICS(64, std::uint64_t)

void __tsan_atomic_thread_fence(int order) { isotope::check::order_accesses(order_of(order), Scope::system); }
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"
