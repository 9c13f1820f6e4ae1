// The C functions for tests that run on a GPU too: EDGE(put)(team, ...) is the library's isotope_put in host code and
// in kernels on the CPU, and a device function of the same table on a GPU, as other languages have it from the bitcode.
// Host and device functions of one name and signature nvcc would not have.
#pragma once

#include "isotope/isotope.h"
#include "isotope/isotope.hpp"

#if ISOTOPE_GPU_COMPILER
#define ISOTOPE_C_FUNCTION [[maybe_unused]] static __device__
#define ISOTOPE_C_CHECK 0
#define ISOTOPE_C_NAME(name) device_##name
#include "isotope/device/c_edge.inc"
#undef ISOTOPE_C_FUNCTION
#undef ISOTOPE_C_CHECK
#endif  // ISOTOPE_GPU_COMPILER

#if defined(__CUDA_ARCH__)
#define EDGE(name) device_##name
#else
#define EDGE(name) isotope_##name
#endif  // __CUDA_ARCH__
