#include "cuda/gpu.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace isotope::cuda {

Current::Current(CUcontext context) {
  const Driver& cuda = driver();
  check(cuda.cuCtxGetCurrent(&before_), "cuCtxGetCurrent");
  if (before_ == context) return;
  check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  changed_ = true;
}

Current::~Current() {
  // A thread that had no context keeps this one: the next call is cheaper, and the runtime's own calls find it.
  if (changed_ && before_ != nullptr) driver().cuCtxSetCurrent(before_);
}

CurrentAtEnd::CurrentAtEnd(CUcontext context) noexcept {
  const Driver& cuda = driver();
  if (cuda.cuCtxGetCurrent(&before_) != CUDA_SUCCESS) return;
  changed_ = before_ != context;
  good_ = !changed_ || cuda.cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

CurrentAtEnd::~CurrentAtEnd() {
  if (good_ && changed_) driver().cuCtxSetCurrent(before_);
}

int gpu_count() {
  std::string why;
  const Driver* cuda = find_driver(why);
  int count = 0;
  if (cuda == nullptr || cuda->cuDeviceGetCount(&count) != CUDA_SUCCESS) return 0;
  return count;
}

bool mps_answers() {
  const char* folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  std::error_code gone;
  return std::filesystem::exists(std::filesystem::path(folder != nullptr ? folder : "/tmp/nvidia-mps") / "control",
                                 gone);
}

Gpu::Gpu(int index) : calls_(&driver()), index_(index) {
  const int count = gpu_count();
  if (index < 0 || index >= count) {
    throw Error(Code::out_of_range,
                fmt::format("GPU {} was asked for and the driver shows {}; ISOTOPE_DEVICE takes 0 to {}, and "
                            "CUDA_VISIBLE_DEVICES may hide some",
                            index, count, count - 1));
  }
  check(calls_->cuDeviceGet(&device_, index), "cuDeviceGet");
  if (attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) == 0 ||
      attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED) == 0) {
    throw Error(Code::not_supported, fmt::format("GPU {} ({}) cannot share memory through descriptors (CUDA's virtual "
                                                 "memory management); run with ISOTOPE_PLATFORM=cpu",
                                                 index, name()));
  }
  check(calls_->cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  try {
    const Current current(context_);
    check(calls_->cuStreamCreate(&copies_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  } catch (...) {
    calls_->cuDevicePrimaryCtxRelease(device_);
    throw;
  }
}

Gpu::~Gpu() {
  if (const CurrentAtEnd current(context_); current) calls_->cuStreamDestroy(copies_);
  calls_->cuDevicePrimaryCtxRelease(device_);
}

std::string Gpu::name() const {
  char name[128] = {};
  calls_->cuDeviceGetName(name, sizeof name - 1, device_);
  return name;
}

std::uint64_t Gpu::memory_bytes() const {
  std::size_t bytes = 0;
  check(calls_->cuDeviceTotalMem(&bytes, device_), "cuDeviceTotalMem");
  return bytes;
}

int Gpu::attribute(CUdevice_attribute which) const {
  int value = 0;
  check(calls_->cuDeviceGetAttribute(&value, which, device_), "cuDeviceGetAttribute");
  return value;
}

CUresult Gpu::state() const noexcept {
  const CurrentAtEnd current(context_);
  if (!current) return CUDA_ERROR_NOT_READY;  // not known
  const Relaxed relaxed(*calls_);
  return calls_->cuStreamQuery(copies_);
}

bool Gpu::loads_lazily() const noexcept {
  CUmoduleLoadingMode mode = CU_MODULE_EAGER_LOADING;
  return calls_->cuModuleGetLoadingMode(&mode) == CUDA_SUCCESS && mode == CU_MODULE_LAZY_LOADING;
}

void Gpu::copy(void* to, const void* from, std::size_t bytes) const {
  if (bytes == 0) return;
  const Current current(context_);
  const Relaxed relaxed(*calls_);
  check(calls_->cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from), bytes, copies_),
        "cuMemcpyAsync");
  check(calls_->cuStreamSynchronize(copies_), "cuMemcpyAsync");
}

void Gpu::fill(void* at, unsigned char value, std::size_t bytes) const {
  if (bytes == 0) return;
  const Current current(context_);
  const Relaxed relaxed(*calls_);
  check(calls_->cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(at), value, bytes, copies_), "cuMemsetD8Async");
  check(calls_->cuStreamSynchronize(copies_), "cuMemsetD8Async");
}

std::string Gpu::text_at(const char* device) const {
  // Byte by byte: how far the memory behind it goes is not known.
  std::string text;
  for (char c = 1; device != nullptr && text.size() < 200;) {
    try {
      copy(&c, device + text.size(), 1);
    } catch (const Error&) {
      break;
    }
    if (c == 0) break;
    text += c;
  }
  return text;
}

PinnedMemory::PinnedMemory(const Gpu& gpu, std::size_t bytes) : gpu_(&gpu) {
  const Current current(gpu.context());
  check(gpu.calls().cuMemHostAlloc(&data_, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
        "cuMemHostAlloc");
  std::memset(data_, 0, bytes);
}

PinnedMemory::~PinnedMemory() {
  if (const CurrentAtEnd current(gpu_->context()); current) gpu_->calls().cuMemFreeHost(data_);
}

RegisteredMemory::RegisteredMemory(const Gpu& gpu, void* pages, std::size_t bytes) : gpu_(&gpu), pages_(pages) {
  const Current current(gpu.context());
  const CUresult result =
      gpu.calls().cuMemHostRegister(pages, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  if (result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
    check(result, "cuMemHostRegister");
    ours_ = true;
  }
  CUdeviceptr device = 0;
  if (const CUresult found = gpu.calls().cuMemHostGetDevicePointer(&device, pages, 0); found != CUDA_SUCCESS) {
    if (ours_) gpu.calls().cuMemHostUnregister(pages);
    check(found, "cuMemHostGetDevicePointer");
  }
  device_ = reinterpret_cast<void*>(device);
}

RegisteredMemory::~RegisteredMemory() {
  if (!ours_) return;
  if (const CurrentAtEnd current(gpu_->context()); current) gpu_->calls().cuMemHostUnregister(pages_);
}

}  // namespace isotope::cuda
