// Attributes and switches that every other header may use. Depends on nothing.
//
// ISOTOPE_HD      a function that both a host compiler and nvcc's device pass compile
// ISOTOPE_KERNEL  a kernel: ordinary code, launched by World::launch on whatever platform the PE drives
// ISOTOPE_CHECKED 1 in the `checked` preset: assertions and device-side argument checks are on
#pragma once

#if defined(__CUDACC__)
#define ISOTOPE_HD __host__ __device__ __forceinline__
#define ISOTOPE_KERNEL __host__ __device__ inline
#else
#define ISOTOPE_HD inline
#define ISOTOPE_KERNEL inline
#endif  // __CUDACC__

#if !defined(ISOTOPE_CHECKED)
#define ISOTOPE_CHECKED 0
#endif  // ISOTOPE_CHECKED

#define ISOTOPE_VERSION_MAJOR 0
#define ISOTOPE_VERSION_MINOR 1
#define ISOTOPE_VERSION_PATCH 0
#define ISOTOPE_VERSION "0.1.0"
