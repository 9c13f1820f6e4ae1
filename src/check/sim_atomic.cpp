// The functions of platform/sim/atomic.hpp that kernels call: each knows where in the program it was called from.
#include "check/memory.hpp"
#include "check/scheduler.hpp"
#include "check/words.hpp"

namespace isotope::sim {

// Out of line, so that the return address is a line of the program.
#define ISOTOPE_PC __builtin_return_address(0)

std::uint64_t load_word(const void* p, int bytes, Order order, Scope scope) {
  return check::load_word(p, bytes, order, scope, ISOTOPE_PC);
}
void store_word(void* p, int bytes, std::uint64_t value, Order order, Scope scope) {
  check::store_word(p, bytes, value, order, scope, ISOTOPE_PC);
}
std::uint64_t change_word(void* p, int bytes, Change change, std::uint64_t value, Order order, Scope scope) {
  return check::change_word(p, bytes, change, value, order, scope, ISOTOPE_PC);
}
std::uint64_t replace_word(void* p, int bytes, std::uint64_t expected, std::uint64_t desired, Order order,
                           Scope scope) {
  return check::replace_word(p, bytes, expected, desired, order, scope, ISOTOPE_PC);
}
void order_accesses(Order order, Scope scope) { check::order_accesses(order, scope); }

Bits128 load_16_bytes(const Bits128* p) {
  // Whole: no other task runs between the halves.
  const std::uint64_t low = check::load_latest(&p->low, Scope::system, ISOTOPE_PC);
  check::Task* task = check::Scheduler::current();
  if (task != nullptr) {
    check::memory().shadow().access(*task, reinterpret_cast<std::uintptr_t>(&p->high), 8, check::kAtomic, Scope::system,
                                    ISOTOPE_PC);
  }
  return {low, p->high};
}

void store_16_bytes(Bits128* p, Bits128 value) {
  check::Task* task = check::Scheduler::current();
  check::store_word(&p->low, 8, value.low, Order::relaxed, Scope::system, ISOTOPE_PC);
  if (task != nullptr) {
    check::memory().shadow().access(*task, reinterpret_cast<std::uintptr_t>(&p->high), 8,
                                    check::kAtomic | check::kWrite, Scope::system, ISOTOPE_PC);
  }
  p->high = value.high;
}

}  // namespace isotope::sim
