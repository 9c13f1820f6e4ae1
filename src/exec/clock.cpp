// The clock that device code sees.
#include "os/clock.hpp"
#include "isotope/platform/cpu/atomic.hpp"

namespace isotope::cpu {

std::uint64_t clock_ns() noexcept { return os::now_ns(); }

}  // namespace isotope::cpu
