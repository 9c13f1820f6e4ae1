// Multicast objects of the fake driver. Nothing written to one reaches the memory that is bound to it; but all who map
// an object see the same bytes, and calls in a wrong order are refused.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "driver.hpp"
#include "state.hpp"

namespace fake_cuda {

namespace {

constexpr std::size_t kGranule = std::size_t{2} << 20;

/// At the end of the object's file, where all processes that have it see it.
struct Board {
  std::atomic<unsigned> gpus, added;
  std::atomic<std::uint64_t> bound;  // bytes, of all GPUs
};
static_assert(sizeof(Board) <= kMulticastTail);

/// The board of the object that the handle is of, for as long as this lives.
class Look {
 public:
  explicit Look(CUmemGenericAllocationHandle handle) {
    const auto held = state().handles.find(handle);
    if (held == state().handles.end() || !held->second.memory->multicast) return;
    memory_ = held->second.memory.get();
    void* at = ::mmap(nullptr, kMulticastTail, PROT_READ | PROT_WRITE, MAP_SHARED, memory_->file,
                      static_cast<off_t>(memory_->bytes));
    if (at != MAP_FAILED) board_ = static_cast<Board*>(at);
  }
  ~Look() {
    if (board_ != nullptr) ::munmap(board_, kMulticastTail);
  }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;
  Board* operator->() const { return board_; }
  Memory& memory() const { return *memory_; }
  bool there() const { return board_ != nullptr; }
  bool complete() const { return static_cast<unsigned>(__builtin_popcount(board_->added)) == board_->gpus; }

 private:
  Memory* memory_ = nullptr;
  Board* board_ = nullptr;
};

bool whole_granules(std::size_t offset, std::size_t bytes, std::size_t room) {
  return bytes != 0 && offset % kGranule == 0 && bytes % kGranule == 0 && offset + bytes <= room;
}

}  // namespace

bool multicast_ready(CUmemGenericAllocationHandle handle) {
  const Look object(handle);
  return object.there() && object.complete();
}

std::uint64_t bound_to_multicast(const void* at) {
  const std::lock_guard lock(state().mutex);
  for (const auto& [begin, mapping] : state().mappings) {
    const auto address = reinterpret_cast<CUdeviceptr>(at);
    if (address < begin || address >= begin + mapping.bytes || !mapping.memory->multicast) continue;
    for (const auto& [handle, held] : state().handles) {
      if (held.memory != mapping.memory) continue;
      const Look object(handle);
      return object.there() ? object->bound.load() : 0;
    }
  }
  return 0;
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle* handle, const CUmulticastObjectProp* properties) {
  FAKE_CALL();
  if (!state().machine.multicast) return CUDA_ERROR_NOT_SUPPORTED;
  if (properties->numDevices < 2 || !whole_granules(0, properties->size, properties->size))
    return CUDA_ERROR_INVALID_VALUE;
  const int file = ::memfd_create("fake-multicast", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(properties->size + kMulticastTail)) != 0)
    return CUDA_ERROR_OPERATING_SYSTEM;
  auto memory = std::make_shared<Memory>();
  memory->file = file;
  memory->bytes = properties->size;
  memory->device = -1;
  memory->types = static_cast<unsigned>(properties->handleTypes);
  memory->multicast = true;
  *handle = add_handle(std::move(memory));
  const Look object(*handle);
  if (object.there()) object->gpus = properties->numDevices;
  return CUDA_SUCCESS;
}

CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice device) {
  FAKE_CALL();
  const Look object(handle);
  if (!object.there() || object.complete()) return CUDA_ERROR_INVALID_VALUE;
  const unsigned bit = 1u << static_cast<unsigned>(device);
  return (object->added.fetch_or(bit) & bit) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle handle, std::size_t offset,
                            CUmemGenericAllocationHandle memory, std::size_t from, std::size_t bytes,
                            unsigned long long) {
  FAKE_CALL();
  const Look object(handle);
  const auto held = state().handles.find(memory);
  if (!object.there() || held == state().handles.end() || held->second.memory->multicast)
    return CUDA_ERROR_INVALID_VALUE;
  if (!object.complete()) return CUDA_ERROR_NOT_READY;
  if (!whole_granules(offset, bytes, object.memory().bytes) || !whole_granules(from, bytes, held->second.memory->bytes))
    return CUDA_ERROR_INVALID_VALUE;
  object->bound += bytes;
  object.memory().bound[offset] = held->second.memory;  // keeps it
  return CUDA_SUCCESS;
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice, std::size_t offset, std::size_t bytes) {
  FAKE_CALL();
  const Look object(handle);
  if (!object.there()) return CUDA_ERROR_INVALID_VALUE;
  if (object.memory().bound.erase(offset) == 0) return CUDA_ERROR_INVALID_VALUE;
  object->bound -= bytes;
  return CUDA_SUCCESS;
}

CUresult cuMulticastGetGranularity(std::size_t* granularity, const CUmulticastObjectProp*,
                                   CUmulticastGranularity_flags) {
  FAKE_CALL();
  *granularity = kGranule;
  return state().machine.multicast ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace fake_cuda
