// A word to the user where CUDA loads kernels at their first launch: that waits for kernels that run, and so, for ever,
// for one of a peer that waits for this launch.
//
// Isotope asks for eager loading before the driver starts (cuda/driver.hpp). A program that sets CUDA_MODULE_LOADING
// itself, or starts CUDA before init() as PyTorch does, has what CUDA does by default: lazy loading.
#pragma once

#include <vector>

namespace isotope::runtime {

/// Warns of the PEs whose driver loads lazily, by rank; says nothing where there are none, or where there is but one
/// PE, which has no peers. Called by one PE of the job.
void warn_of_lazy_modules(const std::vector<int>& lazy, int pes);

}  // namespace isotope::runtime
