// The clock that device code sees.
#include "isotope/platform/cpu/atomic.hpp"
#include "os/clock.hpp"

namespace isotope::cpu {

std::uint64_t clock_ns() noexcept { return os::now_ns(); }

}  // namespace isotope::cpu
