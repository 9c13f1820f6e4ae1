// Attributes and switches that every other header may use. Depends on nothing.
//
// ISOTOPE_HD             a function that both a host compiler and nvcc's device pass compile
// ISOTOPE_FLAT           the same, inlined always: its arguments are constants that must fold away
// ISOTOPE_KERNEL         a kernel: ordinary code, launched by World::launch on whatever platform the PE drives
// ISOTOPE_COLD           a function that is rarely called and stays out of line
// ISOTOPE_GPU_COLD       the same on a GPU alone: the checker would name its line for the user's
// ISOTOPE_UNROLL         before a loop of few turns that must not stay one
// ISOTOPE_GPU_UNROLL     the same on a GPU, where arrays that a loop indexes leave the registers
// ISOTOPE_GPU_ROLLED     before a loop that a GPU's compiler must leave one
// ISOTOPE_GPU_ASSUME(c)  c holds: a GPU's compiler leaves out what is for other cases
// ISOTOPE_CHECKED        1 in the `checked` preset: assertions and device-side argument checks are on
// ISOTOPE_SIM            1 in code that is compiled for the checker (isotope_add_check)
//
// ISOTOPE_LINES_LAND_WHOLE is yours to define as 1, for all of a program: the 128 bytes of a line that a warp of a GPU
// stores by one instruction are seen all or not at all, on your GPUs and the links between them (docs/collectives.md).
#pragma once

#if !defined(ISOTOPE_SIM)
#define ISOTOPE_SIM 0
#endif  // ISOTOPE_SIM
#if !defined(ISOTOPE_LINES_LAND_WHOLE)
#define ISOTOPE_LINES_LAND_WHOLE 0
#endif  // ISOTOPE_LINES_LAND_WHOLE

#if defined(__CUDACC__)
#define ISOTOPE_HD __host__ __device__ __forceinline__
#define ISOTOPE_FLAT __host__ __device__ __forceinline__
#define ISOTOPE_KERNEL __host__ __device__ inline
#define ISOTOPE_COLD __host__ __device__ __noinline__ inline
#define ISOTOPE_GPU_COLD ISOTOPE_COLD
#define ISOTOPE_UNROLL _Pragma("unroll")
#define ISOTOPE_GPU_UNROLL _Pragma("unroll")
#define ISOTOPE_GPU_ROLLED _Pragma("unroll 1")
#else
#if ISOTOPE_SIM
// Inlined always: so the line that a finding names is one of the user's.
#define ISOTOPE_HD __attribute__((always_inline)) inline
#else
#define ISOTOPE_HD inline
#endif  // ISOTOPE_SIM
#define ISOTOPE_FLAT __attribute__((always_inline)) inline
#define ISOTOPE_KERNEL inline
#define ISOTOPE_COLD __attribute__((noinline, cold)) inline
#define ISOTOPE_GPU_COLD ISOTOPE_HD
#define ISOTOPE_UNROLL _Pragma("GCC unroll 16")
#define ISOTOPE_GPU_UNROLL
#define ISOTOPE_GPU_ROLLED
#endif  // __CUDACC__

#if defined(__CUDA_ARCH__)
#define ISOTOPE_GPU_ASSUME(c) __builtin_assume(c)
#else
#define ISOTOPE_GPU_ASSUME(c) static_cast<void>(0)
#endif  // __CUDA_ARCH__

// Whether this file is compiled for GPUs too, so that its kernels can be launched on one; and a name for an inline
// namespace around functions that launch: those of the two kinds of files in one program must not be taken for each
// other.
#if defined(__CUDACC__)
#define ISOTOPE_GPU_COMPILER 1
#define ISOTOPE_COMPILED_FOR for_cpu_and_gpu
#else
#define ISOTOPE_GPU_COMPILER 0
#define ISOTOPE_COMPILED_FOR for_cpu
#endif  // __CUDACC__

#if !defined(ISOTOPE_CHECKED)
#define ISOTOPE_CHECKED 0
#endif  // ISOTOPE_CHECKED

// Ranks are checked in release builds too, except on a GPU, where the registers for it are dear.
#if ISOTOPE_CHECKED || !defined(__CUDA_ARCH__)
#define ISOTOPE_CHECK_RANKS 1
#else
#define ISOTOPE_CHECK_RANKS 0
#endif  // ISOTOPE_CHECK_RANKS

#define ISOTOPE_VERSION_MAJOR 0
#define ISOTOPE_VERSION_MINOR 1
#define ISOTOPE_VERSION_PATCH 0
#define ISOTOPE_VERSION "0.1.0"
