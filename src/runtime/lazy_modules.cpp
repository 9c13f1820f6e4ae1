#include "runtime/lazy_modules.hpp"

#include <fmt/format.h>

#include "runtime/log.hpp"

namespace isotope::runtime {

void warn_of_lazy_modules(const std::vector<int>& lazy, int pes) {
  if (lazy.empty() || pes == 1) return;
  const bool all = lazy.size() == static_cast<std::size_t>(pes);
  log_warn(fmt::format(
      "CUDA loads kernels at their first launch on {}: such a launch waits for kernels that run, also for "
      "one of a peer that waits for it. CUDA_MODULE_LOADING is LAZY, or CUDA was started before init(). Set "
      "CUDA_MODULE_LOADING=EAGER before the program starts, or launch each kernel once before PEs wait for "
      "each other",
      all ? "all PEs" : fmt::format("PE{} {}", lazy.size() == 1 ? "" : "s", fmt::join(lazy, ", "))));
}

}  // namespace isotope::runtime
