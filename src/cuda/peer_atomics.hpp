// Whether one GPU's atomics on another one's memory are atomic. Over NVLink they are; over PCIe loads and stores alone
// may be there.
#pragma once

#include <array>

#include "cuda/gpu.hpp"

namespace isotope::cuda {

using GpuUuid = std::array<char, sizeof(CUuuid)>;

/// The GPU's own, the same in every process.
GpuUuid uuid_of(const Gpu& gpu);

/// Whether `gpu` reaches the memory of the one by that name and its atomics there are not native. False where this
/// process does not see that one, so that nobody can say.
bool lacks_atomics_on(const Gpu& gpu, const GpuUuid& other);

}  // namespace isotope::cuda
