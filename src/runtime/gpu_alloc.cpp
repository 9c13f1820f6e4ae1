// The C edge of memory that can be registered. Nothing may be thrown across it: errors become a line and a null.
#include <fmt/format.h>

#include "isotope/isotope.h"
#include "runtime/log.hpp"

#if ISOTOPE_HAVE_CUDA

#include "cuda/user_memory.hpp"

void* isotope_gpu_alloc(size_t bytes, int device, void*) {
  try {
    return isotope::cuda::allocate_user_memory(bytes, device);
  } catch (const std::exception& error) {
    isotope::runtime::log_error(
        fmt::format("isotope_gpu_alloc of {} bytes on GPU {}: {}", bytes, device, error.what()));
    return nullptr;
  }
}

void isotope_gpu_free(void* ptr, size_t, int device, void* stream) {
  if (ptr == nullptr) return;
  try {
    isotope::cuda::free_user_memory(ptr, device, static_cast<CUstream>(stream));
  } catch (const std::exception& error) {
    isotope::runtime::log_error(fmt::format("isotope_gpu_free of {} on GPU {}: {}", ptr, device, error.what()));
  }
}

#else

void* isotope_gpu_alloc(size_t, int, void*) {
  isotope::runtime::log_error("isotope_gpu_alloc: this build has no cuda platform");
  return nullptr;
}

void isotope_gpu_free(void*, size_t, int, void*) {}

#endif  // ISOTOPE_HAVE_CUDA
