// A stream that the user made, before it becomes one of a World's.
#pragma once

#include "cuda/gpu.hpp"

namespace isotope::cuda {

/// Throws Error(invalid_argument) for a stream on which a World cannot rely: null and CUDA's other names for default
/// streams, one of another GPU or context, and, where PEs that are `threads` share the GPU, one that waits for the
/// default stream: a peer's work there would wait for this PE's kernels, which may wait for that peer. Of a stream
/// under capture nothing but its name is looked at. `pe` throws.
void check_user_stream(const Gpu& gpu, CUstream stream, bool threads, int pe);

}  // namespace isotope::cuda
