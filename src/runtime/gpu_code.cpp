// Whether some file of the program was compiled for GPUs.
#include <atomic>

#include "isotope/base/gpu_kernel.hpp"

namespace isotope::detail {

namespace {
std::atomic<bool> g_gpu_code{false};
}  // namespace

int note_gpu_code() noexcept {
  g_gpu_code.store(true, std::memory_order_relaxed);
  return 1;
}

bool has_gpu_code() noexcept { return g_gpu_code.load(std::memory_order_relaxed); }

}  // namespace isotope::detail
