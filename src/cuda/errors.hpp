// What an error of CUDA means for the caller: whether the GPU is lost to this process, and what to do about it.
#pragma once

#include <string>

#include "cuda/gpu.hpp"

namespace isotope::cuda {

/// Whether no work of this process will run on the GPU any more: a kernel used a bad address, memory failed, the MPS
/// server is gone. Errors that concern one call alone are none of these.
bool loses_gpu(CUresult result) noexcept;

/// What an MPS that does not take this process means, with the limit that was reached, and what to do about it, as the
/// end of a sentence; empty for other errors. They come from the first calls of a process: cuInit, or its context.
std::string advice_on_mps(CUresult result);

/// What to do about a launch that CUDA refuses with this cudaError_t, as the end of a sentence ("; ..."); empty where
/// its own text says it all.
std::string advice_on_launch(int error, const Gpu& gpu);

}  // namespace isotope::cuda
