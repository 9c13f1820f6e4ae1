// What every bootstrap has in common.
#include "bootstrap/bootstrap.hpp"

#include <array>

namespace isotope::bootstrap {

void Bootstrap::barrier() {
  const std::array<std::byte, 1> nothing{};
  allgather(nothing);
}

}  // namespace isotope::bootstrap
