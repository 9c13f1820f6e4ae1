// The platform that the code at hand is compiled for. Each one is a folder with the same names in it: identity and sync
// of thread, warp and block; loads, stores and atomics with an order and a scope; fences; wide accesses and copies;
// multicast; a polite spin; a clock. Everything above is written once, against `platform::`.
//
// Under nvcc a kernel is compiled twice: its device pass sees cuda, its host pass sees cpu. For the checker
// (isotope_add_check) it is compiled once more and sees sim.
#pragma once

#include "isotope/platform/cpu/arithmetic.hpp"
#include "isotope/platform/cpu/atomic.hpp"
#include "isotope/platform/cpu/bulk_copy.hpp"
#include "isotope/platform/cpu/copy.hpp"
#include "isotope/platform/cpu/landing.hpp"
#include "isotope/platform/cpu/line.hpp"
#include "isotope/platform/cpu/multimem.hpp"
#include "isotope/platform/cpu/thread.hpp"
#if ISOTOPE_SIM
#include "isotope/platform/sim/atomic.hpp"
#include "isotope/platform/sim/bulk_copy.hpp"
#include "isotope/platform/sim/copy.hpp"
#include "isotope/platform/sim/landing.hpp"
#include "isotope/platform/sim/line.hpp"
#include "isotope/platform/sim/thread.hpp"
#endif  // ISOTOPE_SIM
#if defined(__CUDACC__)
#include "isotope/platform/cuda/arithmetic.hpp"
#include "isotope/platform/cuda/atomic.hpp"
#include "isotope/platform/cuda/bulk_copy.hpp"
#include "isotope/platform/cuda/copy.hpp"
#include "isotope/platform/cuda/landing.hpp"
#include "isotope/platform/cuda/line.hpp"
#include "isotope/platform/cuda/multimem.hpp"
#include "isotope/platform/cuda/thread.hpp"
#endif  // __CUDACC__

namespace isotope {

#if defined(__CUDA_ARCH__)
namespace platform = cuda;
#elif ISOTOPE_SIM
namespace platform = sim;
#else
namespace platform = cpu;
#endif  // __CUDA_ARCH__

}  // namespace isotope
