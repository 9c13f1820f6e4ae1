// Virtual memory management of the fake driver.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver.hpp"
#include "state.hpp"

namespace fake_cuda {

Memory::~Memory() { ::close(file); }

CUmemGenericAllocationHandle add_handle(std::shared_ptr<Memory> memory) {
  const CUmemGenericAllocationHandle handle = 0x1000 + state().next++;
  state().handles[handle].memory = std::move(memory);
  return handle;
}

namespace {

constexpr std::size_t kGranule = std::size_t{2} << 20;

void* host(CUdeviceptr at) { return reinterpret_cast<void*>(at); }

bool in_reservation(CUdeviceptr at, std::size_t bytes) {
  auto after = state().reservations.upper_bound(at);
  if (after == state().reservations.begin()) return false;
  --after;
  return at + bytes <= after->first + after->second;
}

std::map<CUdeviceptr, Mapping>::iterator mapping_around(CUdeviceptr at) {
  auto& mappings = state().mappings;
  auto after = mappings.upper_bound(at);
  if (after == mappings.begin()) return mappings.end();
  --after;
  return at < after->first + after->second.bytes ? after : mappings.end();
}

bool overlaps_mapping(CUdeviceptr at, std::size_t bytes) {
  const auto next = state().mappings.lower_bound(at);
  return mapping_around(at) != state().mappings.end() || (next != state().mappings.end() && next->first < at + bytes);
}

std::size_t used(CUdevice device) {
  std::set<const Memory*> seen;
  for (const auto& [handle, held] : state().handles) seen.insert(held.memory.get());
  for (const auto& [at, mapping] : state().mappings) seen.insert(mapping.memory.get());
  std::size_t bytes = 0;
  // What another process has made takes none of ours: each counts its own.
  for (const Memory* one : seen) bytes += one->device == device && !one->imported ? one->bytes : 0;
  return bytes;
}

/// A fabric handle names a descriptor of the process that exports it. It keeps nothing itself: with the last handle of
/// the allocation there it is void.
struct FabricName {
  char path[sizeof(CUmemFabricHandle)];
};

/// Whose memory it is goes with the file, by its name.
constexpr const char* kFileName = "fake-gpu-memory-";

CUdevice owner_of(int file) {
  char path[64] = {}, target[128] = {};
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (::readlink(path, target, sizeof target - 1) <= 0) return -1;
  const std::string name = target;  // "/memfd:fake-gpu-memory-3 (deleted)"
  const std::size_t at = name.find(kFileName);
  return at == std::string::npos ? -1 : std::atoi(name.c_str() + at + std::strlen(kFileName));
}

std::shared_ptr<Memory> opened(int file, unsigned types) {
  struct stat about{};
  if (file < 0 || ::fstat(file, &about) != 0) return nullptr;
  auto memory = std::make_shared<Memory>();
  memory->file = file;
  memory->multicast = static_cast<std::size_t>(about.st_size) % kGranule == kMulticastTail;
  memory->bytes = static_cast<std::size_t>(about.st_size) - (memory->multicast ? kMulticastTail : 0);
  memory->types = types;
  memory->device = owner_of(file);
  memory->imported = true;
  return memory;
}

}  // namespace

CUresult cuMemAddressReserve(CUdeviceptr* at, std::size_t bytes, std::size_t alignment, CUdeviceptr,
                             unsigned long long) {
  FAKE_CALL();
  if (bytes == 0 || bytes % kGranule != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t room = bytes + std::max(alignment, kGranule);
  void* base = ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto begin = reinterpret_cast<CUdeviceptr>(base);
  *at = (begin + kGranule - 1) / kGranule * kGranule;
  if (*at > begin) ::munmap(base, *at - begin);
  ::munmap(host(*at + bytes), begin + room - *at - bytes);
  state().reservations[*at] = bytes;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr at, std::size_t bytes) {
  FAKE_CALL();
  const auto found = state().reservations.find(at);
  if (found == state().reservations.end() || found->second != bytes || overlaps_mapping(at, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  ::munmap(host(at), bytes);
  state().reservations.erase(found);
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long) {
  FAKE_CALL();
  const Machine& machine = state().machine;
  const auto types = static_cast<unsigned>(properties->requestedHandleTypes);
  if (bytes == 0 || bytes % kGranule != 0 || properties->location.id >= machine.gpus) return CUDA_ERROR_INVALID_VALUE;
  if ((types & CU_MEM_HANDLE_TYPE_FABRIC) != 0 && !(machine.fabric && machine.fabric_permitted))
    return CUDA_ERROR_NOT_PERMITTED;
  if (used(properties->location.id) + bytes > machine.memory) return CUDA_ERROR_OUT_OF_MEMORY;
  const int file = ::memfd_create((kFileName + std::to_string(properties->location.id)).c_str(), MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) return CUDA_ERROR_OPERATING_SYSTEM;
  auto memory = std::make_shared<Memory>();
  memory->file = file;
  memory->bytes = bytes;
  memory->device = properties->location.id;
  memory->types = types;
  *handle = add_handle(std::move(memory));
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  FAKE_CALL();
  const auto held = state().handles.find(handle);
  if (held == state().handles.end()) return CUDA_ERROR_INVALID_VALUE;
  if (--held->second.references != 0) return CUDA_SUCCESS;
  if (held->second.named >= 0) ::close(held->second.named);
  state().handles.erase(held);
  return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* at) {
  FAKE_CALL();
  const auto mapping = mapping_around(reinterpret_cast<CUdeviceptr>(at));
  if (mapping == state().mappings.end()) return CUDA_ERROR_INVALID_VALUE;
  for (auto& [known, held] : state().handles) {
    if (held.memory != mapping->second.memory) continue;
    ++held.references;
    *handle = known;
    return CUDA_SUCCESS;
  }
  *handle = add_handle(mapping->second.memory);
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  FAKE_CALL();
  const auto held = state().handles.find(handle);
  if (held == state().handles.end()) return CUDA_ERROR_INVALID_VALUE;
  *properties = {};
  properties->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties->requestedHandleTypes = static_cast<CUmemAllocationHandleType>(held->second.memory->types);
  properties->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties->location.id = held->second.memory->device;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr at) {
  FAKE_CALL();
  if (const auto mapping = mapping_around(at); mapping != state().mappings.end()) {
    *base = mapping->first;
    *bytes = mapping->second.bytes;
    return CUDA_SUCCESS;
  }
  for (const auto& [begin, memory] : state().plain) {
    if (at < begin || at >= begin + memory.first) continue;
    *base = begin;
    *bytes = memory.first;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute which, CUdeviceptr at) {
  FAKE_CALL();
  if (which != CU_POINTER_ATTRIBUTE_MEMORY_TYPE) return CUDA_ERROR_NOT_SUPPORTED;
  auto& type = *static_cast<CUmemorytype*>(data);
  type = CU_MEMORYTYPE_DEVICE;
  if (mapping_around(at) != state().mappings.end()) return CUDA_SUCCESS;
  for (const auto& [begin, memory] : state().plain) {
    if (at >= begin && at < begin + memory.first) return CUDA_SUCCESS;
  }
  type = CU_MEMORYTYPE_HOST;
  for (const auto& [begin, bytes] : state().pinned) {
    if (at >= reinterpret_cast<CUdeviceptr>(begin) && at < reinterpret_cast<CUdeviceptr>(begin) + bytes)
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemMap(CUdeviceptr at, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  FAKE_CALL();
  const auto held = state().handles.find(handle);
  if (held == state().handles.end() || at % kGranule != 0 || !in_reservation(at, bytes) || overlaps_mapping(at, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (offset != 0 || bytes != held->second.memory->bytes) return CUDA_ERROR_NOT_SUPPORTED;
  if (held->second.memory->multicast && !multicast_ready(handle)) return CUDA_ERROR_NOT_READY;
  if (::mmap(host(at), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, held->second.memory->file, 0) == MAP_FAILED)
    return CUDA_ERROR_OPERATING_SYSTEM;
  state().mappings[at] = {bytes, held->second.memory, false};
  return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr at, std::size_t bytes, const CUmemAccessDesc* access, std::size_t count) {
  FAKE_CALL();
  for (std::size_t i = 0; i < count; ++i) {
    if (access[i].location.id >= state().machine.gpus) return CUDA_ERROR_INVALID_DEVICE;
  }
  for (CUdeviceptr next = at; next < at + bytes;) {
    const auto mapping = state().mappings.find(next);
    if (mapping == state().mappings.end() || count == 0) return CUDA_ERROR_INVALID_VALUE;
    ::mprotect(host(next), mapping->second.bytes, PROT_READ | PROT_WRITE);
    for (std::size_t i = 0; i < count; ++i) {
      const CUdevice owner = mapping->second.memory->device;
      if (owner >= 0 && !reaches(access[i].location.id, owner)) return CUDA_ERROR_INVALID_DEVICE;
    }
    mapping->second.accessible = true;
    next += mapping->second.bytes;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr at, std::size_t bytes) {
  FAKE_CALL();
  const auto mapping = state().mappings.find(at);
  if (mapping == state().mappings.end() || mapping->second.bytes != bytes) return CUDA_ERROR_INVALID_VALUE;
  ::mmap(host(at), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  state().mappings.erase(mapping);
  return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void* into, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long) {
  FAKE_CALL();
  const auto held = state().handles.find(handle);
  if (held == state().handles.end() || (held->second.memory->types & static_cast<unsigned>(type)) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  ++state().exports[type];
  const int file = held->second.memory->file;
  if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    *static_cast<int*>(into) = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
    return CUDA_SUCCESS;
  }
  FabricName name{};
  if (held->second.named < 0) held->second.named = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
  std::snprintf(name.path, sizeof name.path, "/proc/%d/fd/%d", ::getpid(), held->second.named);
  std::memcpy(into, &name, sizeof name);
  return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* from,
                                        CUmemAllocationHandleType type) {
  FAKE_CALL();
  FabricName name{};
  if (type == CU_MEM_HANDLE_TYPE_FABRIC) std::memcpy(&name, from, sizeof name);
  const int file = type == CU_MEM_HANDLE_TYPE_FABRIC
                       ? ::open(name.path, O_RDWR | O_CLOEXEC)
                       : ::fcntl(static_cast<int>(reinterpret_cast<std::intptr_t>(from)), F_DUPFD_CLOEXEC, 0);
  auto memory = opened(file, static_cast<unsigned>(type));
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *handle = add_handle(std::move(memory));
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(std::size_t* left, std::size_t* total) {
  FAKE_CALL_IN_CONTEXT();
  *total = state().machine.memory;
  *left = *total - std::min(*total, used(device_of(current())));
  return CUDA_SUCCESS;
}

}  // namespace fake_cuda
