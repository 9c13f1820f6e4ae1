#include "cuda/local_memory.hpp"

#include <fmt/format.h>

namespace isotope::cuda {

std::uint64_t LocalMemory::there() const {
  const Current current(gpu_->context());
  std::size_t bytes = 0;
  check(gpu_->calls().cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE), "cuCtxGetLimit");
  return bytes;
}

void LocalMemory::set_aside(std::uint64_t bytes) const {
  if (bytes <= there()) return;
  const Current current(gpu_->context());
  const CUresult result = gpu_->calls().cuCtxSetLimit(CU_LIMIT_STACK_SIZE, bytes);
  const std::uint64_t now = there();
  if (result == CUDA_SUCCESS && now >= bytes) return;  // the driver may round it up
  const std::string what = fmt::format(
      "ISOTOPE_LOCAL_MEMORY_BYTES is {} and GPU {} sets {} aside for each thread; ask for less. cuCtxSetLimit", bytes,
      gpu_->index(), now);
  check(result, what.c_str(), Code::invalid_argument);
  throw Error(Code::invalid_argument, what + ": fewer bytes than asked for");
}

std::uint64_t LocalMemory::needed_by(const detail::GpuKernel& kernel) {
  const std::lock_guard lock(mutex_);
  const auto known = needed_.find(kernel.entry);
  if (known != needed_.end()) return known->second;
  const Current current(gpu_->context());
  std::size_t bytes = 0;
  // What is wrong with the kernel the launch itself says, with advice.
  if (kernel.calls->local_bytes(kernel.entry, &bytes) != 0) return 0;
  return needed_[kernel.entry] = bytes;
}

bool LocalMemory::enough_for(const detail::GpuKernel& kernel) {
  const std::uint64_t needed = needed_by(kernel);
  return needed == 0 || needed <= there();
}

std::string LocalMemory::shortage(const detail::GpuKernel& kernel) {
  const std::uint64_t needed = needed_by(kernel);
  return fmt::format(
      "launch: the kernel needs {} bytes of local memory (stack, arrays, spilled registers) for each thread, and GPU "
      "{} "
      "has {} set aside. PEs that are threads share it, and CUDA may wait for the kernels of all of them to set more "
      "aside. Start with ISOTOPE_LOCAL_MEMORY_BYTES={}, write a kernel that needs less, or run the PEs as processes",
      needed, gpu_->index(), there(), needed);
}

}  // namespace isotope::cuda
