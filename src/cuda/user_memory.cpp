#include "cuda/user_memory.hpp"

#include <fmt/format.h>

#include <utility>

namespace isotope::cuda {

namespace {

constexpr const char* kWhatToDo =
    "allocate it with isotope_gpu_alloc, in PyTorch by a MemPool over that or with "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";

/// Why `at` has no allocation of CUDA's virtual memory management behind it.
[[noreturn]] void refuse(const Gpu& gpu, std::uintptr_t at) {
  CUmemorytype type{};
  if (gpu.calls().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) != CUDA_SUCCESS) {
    throw Error(
        Code::invalid_argument,
        fmt::format("{:#x} is no memory that CUDA knows (host memory, or freed); this PE drives GPU {} and registers "
                    "memory of it",
                    at, gpu.index()));
  }
  if (type != CU_MEMORYTYPE_DEVICE) {
    throw Error(
        Code::invalid_argument,
        fmt::format("{:#x} is memory of the host; this PE drives GPU {} and registers memory of it", at, gpu.index()));
  }
  throw Error(Code::not_supported,
              fmt::format("{:#x} comes from cudaMalloc or the like, which CUDA maps nowhere else; {}", at, kWhatToDo));
}

/// Keeps a GPU's primary context for a few calls. The memory that they make stays valid only as long as somebody keeps
/// it.
class PrimaryContext {
 public:
  explicit PrimaryContext(int device) : calls_(&driver()) {
    check(calls_->cuDeviceGet(&device_, device), "cuDeviceGet", Code::out_of_range);
    check(calls_->cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  }
  ~PrimaryContext() {
    if (!kept_) calls_->cuDevicePrimaryCtxRelease(device_);
  }
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  void keep() noexcept { kept_ = true; }
  const Driver& calls() const noexcept { return *calls_; }
  CUdevice device() const noexcept { return device_; }
  CUcontext context() const noexcept { return context_; }

 private:
  const Driver* calls_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  bool kept_ = false;
};

std::vector<CUmemAccessDesc> all_that_reach(const Driver& calls, CUdevice device) {
  std::vector<CUmemAccessDesc> access;
  int count = 0;
  calls.cuDeviceGetCount(&count);
  for (int index = 0; index < count; ++index) {
    CUdevice other = 0;
    int reaches = 0;
    if (calls.cuDeviceGet(&other, index) != CUDA_SUCCESS) continue;
    if (other != device) calls.cuDeviceCanAccessPeer(&reaches, other, device);
    if (other != device && reaches == 0) continue;
    access.push_back(access_by(other));
  }
  return access;
}

}  // namespace

UserMemory find_user_memory(const Gpu& gpu, const void* data, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  if (bytes == 0) throw Error(Code::invalid_argument, "0 bytes; at least 1 was expected");
  const Current current(gpu.context());
  UserMemory memory;
  std::uintptr_t at = begin;
  while (memory.chunks.empty() || at - begin < bytes) {
    CUdeviceptr base = 0;
    std::size_t size = 0;
    if (gpu.calls().cuMemGetAddressRange(&base, &size, at) != CUDA_SUCCESS) refuse(gpu, at);
    Chunk chunk = Chunk::retain(gpu, at, size);
    if (!chunk) refuse(gpu, at);
    const CUmemLocation where = chunk.properties().location;
    if (where.type != CU_MEM_LOCATION_TYPE_DEVICE || where.id != gpu.device()) {
      throw Error(Code::invalid_argument,
                  fmt::format("{:#x} is memory of {} {}; this PE drives GPU {}", at,
                              where.type == CU_MEM_LOCATION_TYPE_DEVICE ? "GPU" : "host node", where.id, gpu.index()));
    }
    if (memory.chunks.empty()) memory.lead = begin - base;
    memory.bytes += size;
    memory.chunks.push_back(std::move(chunk));
    at = base + size;
  }
  return memory;
}

Travel travel_of(const Chunk& chunk, Travel rather) {
  const auto types = static_cast<unsigned>(chunk.properties().requestedHandleTypes);
  const bool fabric = (types & CU_MEM_HANDLE_TYPE_FABRIC) != 0;
  const bool descriptors = (types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0;
  if (fabric && (rather == Travel::fabric || !descriptors)) return Travel::fabric;
  if (descriptors) return Travel::descriptors;
  throw Error(Code::not_supported, fmt::format("the memory was made for one process alone: ask cuMemCreate for "
                                               "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, or {}",
                                               kWhatToDo));
}

void* allocate_user_memory(std::uint64_t bytes, int device) {
  PrimaryContext primary(device);
  const Driver& calls = primary.calls();
  const CurrentAtEnd current(primary.context());  // where it fails, the context may go with `primary`
  const std::uint64_t size = bytes == 0 ? kChunkGranule : (bytes + kChunkGranule - 1) / kChunkGranule * kChunkGranule;
  if (size < bytes) throw Error(Code::out_of_heap, fmt::format("{} bytes are more than any GPU has", bytes));
  // Both ways where there are two: the job that will register it has not chosen yet.
  const CUmemAllocationProp properties = memory_of(
      primary.device(),
      static_cast<CUmemAllocationHandleType>(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR |
                                             (fabric_works(calls, primary.device()) ? CU_MEM_HANDLE_TYPE_FABRIC : 0)));
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr at = 0;
  check(calls.cuMemCreate(&handle, size, &properties, 0), "cuMemCreate", Code::out_of_heap);
  bool mapped = false;
  try {
    check(calls.cuMemAddressReserve(&at, size, kChunkGranule, 0, 0), "cuMemAddressReserve");
    check(calls.cuMemMap(at, size, 0, handle, 0), "cuMemMap");
    mapped = true;
    const std::vector<CUmemAccessDesc> access = all_that_reach(calls, primary.device());
    check(calls.cuMemSetAccess(at, size, access.data(), access.size()), "cuMemSetAccess");
  } catch (...) {
    if (mapped) calls.cuMemUnmap(at, size);
    if (at != 0) calls.cuMemAddressFree(at, size);
    calls.cuMemRelease(handle);
    throw;
  }
  calls.cuMemRelease(handle);  // the mapping keeps it
  primary.keep();
  return reinterpret_cast<void*>(at);
}

void free_user_memory(void* data, int device, CUstream stream) {
  const PrimaryContext primary(device);
  const Driver& calls = primary.calls();
  const CurrentAtEnd current(primary.context());
  const auto at = reinterpret_cast<CUdeviceptr>(data);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  CUmemGenericAllocationHandle handle = 0;
  // Asked of the driver, not kept in a table of ours: a library has no state of its own.
  if (calls.cuMemGetAddressRange(&base, &size, at) != CUDA_SUCCESS || base != at ||
      calls.cuMemRetainAllocationHandle(&handle, data) != CUDA_SUCCESS) {
    throw Error(Code::invalid_argument, fmt::format("{:#x} is not the start of memory of isotope_gpu_alloc", at));
  }
  calls.cuMemRelease(handle);
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  calls.cuStreamIsCapturing(stream, &capture);
  if (capture == CU_STREAM_CAPTURE_STATUS_NONE) calls.cuStreamSynchronize(stream);
  check(calls.cuMemUnmap(base, size), "cuMemUnmap");
  check(calls.cuMemAddressFree(base, size), "cuMemAddressFree");
  calls.cuDevicePrimaryCtxRelease(primary.device());  // the one that allocate_user_memory kept
}

}  // namespace isotope::cuda
