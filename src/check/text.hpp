// Words for reports: places in the source, orders and scopes, and who did it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "check/clock.hpp"
#include "isotope/base/call_site.hpp"
#include "isotope/base/order.hpp"

namespace isotope::check {

struct Task;

/// "ring.cpp:12".
std::string site_text(CallSite site);
/// A program counter as it travels in a report: the parent process puts file and line in its place.
std::string pc_text(const void* pc);
std::string order_text(Order order);
std::string scope_text(Scope scope);
std::string cmp_text(Cmp cmp);
/// "PE 1, block 0, thread 3 of kernel ring", "PE 1, host code".
std::string who_text(TaskId id, Epoch epoch);
std::string who_text(const Task& task);
/// A word as people read it: small ones in decimal, others in hexadecimal.
std::string value_text(std::uint64_t value);
/// Lines of at most 80 columns: what is longer goes on below, indented by `hang` columns, or (0) by 4 more than the
/// line.
std::string folded(const std::string& text, std::size_t hang = 0);
/// The kernel's name out of the compiler's text.
std::string kernel_name(const char* text);

}  // namespace isotope::check
