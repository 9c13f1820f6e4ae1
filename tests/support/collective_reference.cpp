// What nvcc cannot read: fmt's checks of formats.
#include "support/collective_reference.hpp"

#include <fmt/format.h>

namespace isotope::testing {

std::string difference_text(double found, double expected, double bound) {
  return fmt::format("{} instead of {} within {}", found, expected, bound);
}
std::string difference_text(std::uint64_t found, std::uint64_t expected) {
  return fmt::format("{:#x} instead of {:#x}", found, expected);
}

}  // namespace isotope::testing
