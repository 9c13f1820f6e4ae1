#include "cuda/address_space.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace isotope::cuda {

AddressSpace::AddressSpace(const Gpu& gpu, int slots, std::uint64_t slot_bytes)
    : calls_(&gpu.calls()), context_(gpu.context()), slots_(slots), slot_bytes_(slot_bytes), devices_{gpu.device()} {
  const Current current(context_);
  CUdeviceptr base = 0;
  check(calls_->cuMemAddressReserve(&base, slot_bytes * static_cast<std::uint64_t>(slots), kChunkGranule, 0, 0),
        "cuMemAddressReserve");
  base_ = reinterpret_cast<std::byte*>(base);
}

AddressSpace::~AddressSpace() {
  const CurrentAtEnd current(context_);
  if (!current) return;
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
  for (const int device : devices) access.push_back(access_by(device));
  const CUresult result = calls_->cuMemSetAccess(mapping.at, mapping.bytes, access.data(), access.size());
  if (result == CUDA_SUCCESS) return;
  const int owner = slot_of(reinterpret_cast<const void*>(mapping.at));
  check(result,
        fmt::format("GPU {} cannot reach the memory of PE {}: `isotope info` shows which GPUs reach each other; choose "
                    "among those with CUDA_VISIBLE_DEVICES, or run with ISOTOPE_PLATFORM=cpu. cuMemSetAccess",
                    fmt::join(devices, ", "), owner)
            .c_str());
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
  const CurrentAtEnd current(context_);
  if (!current) return;
  const auto begin = reinterpret_cast<CUdeviceptr>(slot(rank) + offset);
  std::erase_if(mappings_, [&](const Mapping& m) {
    const bool inside = m.at >= begin && m.at + m.bytes <= begin + bytes;
    if (inside) calls_->cuMemUnmap(m.at, m.bytes);
    return inside;
  });
}

}  // namespace isotope::cuda
