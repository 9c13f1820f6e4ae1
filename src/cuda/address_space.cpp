#include "cuda/address_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace isotope::cuda {

namespace {

CUmemAllocationProp properties_of(CUdevice device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

}  // namespace

Chunk Chunk::create(const Gpu& gpu, std::uint64_t bytes) {
  const Current current(gpu.context());
  const CUmemAllocationProp properties = properties_of(gpu.device());
  Chunk chunk;
  chunk.calls_ = &gpu.calls();
  const CUresult result = gpu.calls().cuMemCreate(&chunk.handle_, bytes, &properties, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    std::size_t left = 0, total = 0;
    gpu.calls().cuMemGetInfo(&left, &total);
    chunk.calls_ = nullptr;
    throw Error(Code::out_of_heap, fmt::format("GPU {} has {} of its {} bytes free and {} more are needed", gpu.index(),
                                               left, total, bytes));
  }
  if (result != CUDA_SUCCESS) chunk.calls_ = nullptr;
  check(result, "cuMemCreate");
  chunk.bytes_ = bytes;
  return chunk;
}

Chunk Chunk::import(const Gpu& gpu, int descriptor, std::uint64_t bytes) {
  const Current current(gpu.context());
  Chunk chunk;
  check(gpu.calls().cuMemImportFromShareableHandle(
            &chunk.handle_, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        "cuMemImportFromShareableHandle");
  chunk.calls_ = &gpu.calls();
  chunk.bytes_ = bytes;
  return chunk;
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

os::Fd Chunk::export_descriptor() const {
  int descriptor = -1;
  check(calls_->cuMemExportToShareableHandle(&descriptor, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        "cuMemExportToShareableHandle");
  return os::Fd(descriptor);
}

AddressSpace::AddressSpace(const Gpu& gpu, int slots, std::uint64_t slot_bytes)
    : calls_(&gpu.calls()),
      context_(gpu.context()),
      slots_(slots),
      slot_bytes_(slot_bytes),
      devices_{gpu.device()} {
  const Current current(context_);
  CUdeviceptr base = 0;
  check(calls_->cuMemAddressReserve(&base, slot_bytes * static_cast<std::uint64_t>(slots), kChunkGranule, 0, 0),
        "cuMemAddressReserve");
  base_ = reinterpret_cast<std::byte*>(base);
}

AddressSpace::~AddressSpace() {
  if (calls_->cuCtxSetCurrent(context_) != CUDA_SUCCESS) return;
  for (const Mapping& mapping : mappings_) calls_->cuMemUnmap(mapping.at, mapping.bytes);
  calls_->cuMemAddressFree(reinterpret_cast<CUdeviceptr>(base_), slot_bytes_ * static_cast<std::uint64_t>(slots_));
}

int AddressSpace::slot_of(const void* address) const noexcept {
  const auto distance = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base_);
  if (distance >= slot_bytes_ * static_cast<std::uint64_t>(slots_)) return kNoPe;
  return static_cast<int>(distance / slot_bytes_);
}

void AddressSpace::give_access(const Mapping& mapping, const std::vector<int>& devices) const {
  std::vector<CUmemAccessDesc> access;
  for (const int device : devices) {
    CUmemAccessDesc one{};
    one.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    one.location.id = device;
    one.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    access.push_back(one);
  }
  check(calls_->cuMemSetAccess(mapping.at, mapping.bytes, access.data(), access.size()), "cuMemSetAccess");
}

void AddressSpace::add_device(int device) {
  const std::lock_guard lock(mutex_);
  if (std::find(devices_.begin(), devices_.end(), device) != devices_.end()) return;
  const Current current(context_);
  for (const Mapping& mapping : mappings_) give_access(mapping, {device});
  devices_.push_back(device);
}

void AddressSpace::map(int rank, std::uint64_t offset, const Chunk& chunk) {
  const std::lock_guard lock(mutex_);
  const Current current(context_);
  const Mapping mapping{reinterpret_cast<CUdeviceptr>(slot(rank) + offset), chunk.bytes()};
  check(calls_->cuMemMap(mapping.at, mapping.bytes, 0, chunk.handle(), 0), "cuMemMap");
  try {
    give_access(mapping, devices_);
  } catch (...) {
    calls_->cuMemUnmap(mapping.at, mapping.bytes);
    throw;
  }
  mappings_.push_back(mapping);
}

void AddressSpace::unmap(int rank, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (calls_->cuCtxSetCurrent(context_) != CUDA_SUCCESS) return;
  const auto at = reinterpret_cast<CUdeviceptr>(slot(rank) + offset);
  if (std::erase_if(mappings_, [&](const Mapping& m) { return m.at == at && m.bytes == bytes; }) != 0) {
    calls_->cuMemUnmap(at, bytes);
  }
}

}  // namespace isotope::cuda
