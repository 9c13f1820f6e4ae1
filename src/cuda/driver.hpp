// The CUDA driver, found at run time: the same binary starts with and without a GPU.
//
//   std::string why;
//   if (const Driver* cuda = find_driver(why)) check(cuda->cuDeviceGetCount(&n), "cuDeviceGetCount");
//
// Headers of CUDA are needed to build this room, its libraries are not.
#pragma once

#include <cuda.h>

#include <string>

#include "isotope/base/error.hpp"

namespace isotope::cuda {

/// One pointer per row of calls.def, and of newer_calls.def, which may be null.
struct Driver {
#define X(name) decltype(&::name) name = nullptr;
#include "cuda/calls.def"
#include "cuda/newer_calls.def"
#undef X
};

/// The driver, initialised; null when there is none, `why` says what is missing. Looked for once per process. Before
/// that it asks CUDA for eager loading of modules and for more hardware queues, where the environment does not say
/// otherwise: a module that is loaded, or a stream that shares a queue, while a peer's kernel waits would wait for it.
const Driver* find_driver(std::string& why);
/// A driver is on this machine and it cannot be used: too old, or it does not start. Not so where it is missing, or
/// shows no GPU, as it does where CUDA_VISIBLE_DEVICES hides them all.
bool driver_is_broken();
/// The same, or Error(not_supported).
const Driver& driver();

/// What hides GPUs, as the end of a sentence about there being none; empty where CUDA_VISIBLE_DEVICES is not set.
std::string what_is_visible();

/// "12.4" for 12040.
std::string version_text(int version);

/// Throws Error(`code`) unless `result` is success: what was called, CUDA's name and text for it, and what to do where
/// it is MPS that does not take this process.
void check(CUresult result, const char* call, Code code = Code::system);

}  // namespace isotope::cuda
