// The GPU's side of a World's address reservation: one slot per PE at equal stride, and the physical memory mapped
// there.
//
// PEs that are threads of one process share one of these, since a heap is mapped once per process.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "cuda/chunk.hpp"
#include "cuda/gpu.hpp"
#include "isotope/device/team.hpp"

namespace isotope::cuda {

class AddressSpace {
 public:
  /// Reserves `slots` slots of `slot_bytes`, a multiple of the granule. Maps nothing.
  AddressSpace(const Gpu& gpu, int slots, std::uint64_t slot_bytes);
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  std::byte* slot(int rank) const noexcept { return base_ + static_cast<std::uint64_t>(rank) * slot_bytes_; }
  /// The rank whose slot holds `address`, or kNoPe.
  int slot_of(const void* address) const noexcept;
  /// Another PE of this process uses that GPU too: it gets access to all that is mapped and will be.
  void add_device(int device);
  /// Maps the chunk `offset` into the slot of `rank`, readable and writable by every GPU of this process.
  void map(int rank, std::uint64_t offset, const Chunk& chunk);
  /// Takes away every chunk that was mapped whole into that range of the slot of `rank`.
  void unmap(int rank, std::uint64_t offset, std::uint64_t bytes) noexcept;

 private:
  struct Mapping {
    CUdeviceptr at = 0;
    std::uint64_t bytes = 0;
  };
  void give_access(const Mapping& mapping, const std::vector<int>& devices) const;

  const Driver* calls_;
  CUcontext context_;
  int slots_;
  std::uint64_t slot_bytes_;
  std::byte* base_ = nullptr;
  std::mutex mutex_;  // guards the two below
  std::vector<int> devices_;
  std::vector<Mapping> mappings_;
};

}  // namespace isotope::cuda
