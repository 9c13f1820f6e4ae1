// The functions of the fake driver: all of src/cuda/calls.def and newer_calls.def, by the types that CUDA's header
// gives them.
#pragma once

#include <cuda.h>

namespace fake_cuda {

#define X(name) extern decltype(::name) name;
#include "cuda/calls.def"
#include "cuda/newer_calls.def"
#undef X

CUdevice device_of(CUcontext context);

}  // namespace fake_cuda
