// Atomic accesses with the place in the program that made them.
#pragma once

#include <cstdint>

#include "isotope/base/order.hpp"
#include "isotope/platform/sim/atomic.hpp"

namespace isotope::check {

/// The latest value, or an older one where the memory model allows it (older.hpp).
std::uint64_t load_word(const void* p, int bytes, Order order, Scope scope, const void* pc);
/// A relaxed load of 8 bytes that sees the latest value.
std::uint64_t load_latest(const void* p, Scope scope, const void* pc);
void store_word(void* p, int bytes, std::uint64_t value, Order order, Scope scope, const void* pc);
std::uint64_t change_word(void* p, int bytes, sim::Change change, std::uint64_t value, Order order, Scope scope,
                          const void* pc);
std::uint64_t replace_word(void* p, int bytes, std::uint64_t expected, std::uint64_t desired, Order order, Scope scope,
                           const void* pc);
void order_accesses(Order order, Scope scope);

/// A copy by the current task, or by one on its behalf. `flags`: of both accesses (AccessFlags).
void copy_bytes(void* dst, const void* src, std::size_t bytes, const void* pc, std::uint8_t flags = 0);

}  // namespace isotope::check
