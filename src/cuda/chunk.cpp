#include "cuda/chunk.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "os/memory.hpp"

namespace isotope::cuda {

CUmemAllocationHandleType handle_type(Travel travel) noexcept {
  return travel == Travel::fabric ? CU_MEM_HANDLE_TYPE_FABRIC : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

CUmemAllocationProp memory_of(CUdevice device, CUmemAllocationHandleType types) noexcept {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = types;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

CUmemAccessDesc access_by(CUdevice device) noexcept {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

static_assert(sizeof(CUmemFabricHandle) == sizeof SharedPiece::name);

bool fabric_works(const Driver& calls, CUdevice device) noexcept {
  int promised = 0;
  if (calls.cuDeviceGetAttribute(&promised, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, device) != CUDA_SUCCESS ||
      promised == 0) {
    return false;
  }
  const CUmemAllocationProp properties = memory_of(device, handle_type(Travel::fabric));
  CUmemGenericAllocationHandle made = 0, again = 0;
  if (calls.cuMemCreate(&made, kChunkGranule, &properties, 0) != CUDA_SUCCESS) return false;
  CUmemFabricHandle name{};
  const bool works = calls.cuMemExportToShareableHandle(&name, made, CU_MEM_HANDLE_TYPE_FABRIC, 0) == CUDA_SUCCESS &&
                     calls.cuMemImportFromShareableHandle(&again, &name, CU_MEM_HANDLE_TYPE_FABRIC) == CUDA_SUCCESS;
  if (works) calls.cuMemRelease(again);
  calls.cuMemRelease(made);
  return works;
}

Chunk Chunk::create(const Gpu& gpu, std::uint64_t bytes, Travel travel) {
  const Current current(gpu.context());
  const CUmemAllocationProp properties = memory_of(gpu.device(), handle_type(travel));
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = gpu.calls().cuMemCreate(&handle, bytes, &properties, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    std::size_t left = 0, total = 0;
    gpu.calls().cuMemGetInfo(&left, &total);
    throw Error(Code::out_of_heap, fmt::format("GPU {} has {} of its {} bytes free and {} more are needed", gpu.index(),
                                               left, total, bytes));
  }
  check(result, "cuMemCreate");
  return adopt(gpu, handle, bytes);
}

Chunk Chunk::adopt(const Gpu& gpu, CUmemGenericAllocationHandle handle, std::uint64_t bytes) noexcept {
  Chunk chunk;
  chunk.calls_ = &gpu.calls();
  chunk.handle_ = handle;
  chunk.bytes_ = bytes;
  return chunk;
}

Chunk Chunk::import(const Gpu& gpu, std::int32_t pid, const SharedPiece& piece) {
  const Current current(gpu.context());
  CUmemGenericAllocationHandle handle = 0;
  CUmemFabricHandle name{};
  os::Fd taken;
  void* what = &name;
  if (piece.fabric != 0) {
    std::memcpy(&name, piece.name.data(), sizeof name);
  } else {
    taken = os::take_descriptor_of(pid, piece.descriptor);
    what = reinterpret_cast<void*>(static_cast<std::intptr_t>(taken.get()));
  }
  check(gpu.calls().cuMemImportFromShareableHandle(
            &handle, what, handle_type(piece.fabric != 0 ? Travel::fabric : Travel::descriptors)),
        "cuMemImportFromShareableHandle");
  return adopt(gpu, handle, piece.bytes);
}

Chunk Chunk::retain(const Gpu& gpu, std::uintptr_t at, std::uint64_t bytes) {
  const Current current(gpu.context());
  CUmemGenericAllocationHandle handle = 0;
  if (gpu.calls().cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(at)) != CUDA_SUCCESS) return {};
  return adopt(gpu, handle, bytes);
}

Chunk::Chunk(Chunk&& other) noexcept
    : calls_(std::exchange(other.calls_, nullptr)), handle_(other.handle_), bytes_(other.bytes_) {}

Chunk& Chunk::operator=(Chunk&& other) noexcept {
  std::swap(calls_, other.calls_);
  std::swap(handle_, other.handle_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Chunk::~Chunk() {
  if (calls_ != nullptr) calls_->cuMemRelease(handle_);
}

CUmemAllocationProp Chunk::properties() const {
  CUmemAllocationProp properties{};
  check(calls_->cuMemGetAllocationPropertiesFromHandle(&properties, handle_), "cuMemGetAllocationPropertiesFromHandle");
  return properties;
}

Chunk::Exported Chunk::export_as(Travel travel) const {
  Exported exported;
  exported.piece.bytes = bytes_;
  if (travel == Travel::fabric) {
    CUmemFabricHandle name{};
    check(calls_->cuMemExportToShareableHandle(&name, handle_, CU_MEM_HANDLE_TYPE_FABRIC, 0),
          "cuMemExportToShareableHandle");
    exported.piece.fabric = 1;
    std::memcpy(exported.piece.name.data(), &name, sizeof name);
    return exported;
  }
  int descriptor = -1;
  check(calls_->cuMemExportToShareableHandle(&descriptor, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        "cuMemExportToShareableHandle");
  exported.descriptor = os::Fd(descriptor);
  exported.piece.descriptor = descriptor;
  return exported;
}

}  // namespace isotope::cuda
