// The GPU's side of a World's address reservation: one slot per PE at equal stride, and the physical memory mapped there.
//
// PEs that are threads of one process share one of these, since a heap is mapped once per process. Memory crosses to other
// processes as file descriptors.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "cuda/gpu.hpp"
#include "isotope/device/team.hpp"
#include "os/fd.hpp"

namespace isotope::cuda {

/// A piece of a GPU's memory. Freed when the last mapping and the last handle are gone.
class Chunk {
 public:
  Chunk() = default;
  /// `bytes` of it, a multiple of kChunkGranule. Throws Error(out_of_heap) when the GPU has no such piece left.
  static Chunk create(const Gpu& gpu, std::uint64_t bytes);
  /// The piece behind a descriptor that another process has exported.
  static Chunk import(const Gpu& gpu, int descriptor, std::uint64_t bytes);
  Chunk(Chunk&& other) noexcept;
  Chunk& operator=(Chunk&& other) noexcept;
  ~Chunk();

  os::Fd export_descriptor() const;
  CUmemGenericAllocationHandle handle() const noexcept { return handle_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  const Driver* calls_ = nullptr;
  CUmemGenericAllocationHandle handle_ = 0;
  std::uint64_t bytes_ = 0;
};

/// What every mapping and size is a multiple of: the largest granularity that GPUs have.
inline constexpr std::uint64_t kChunkGranule = std::uint64_t{2} << 20;

class AddressSpace {
 public:
  /// Reserves `slots` slots of `slot_bytes`, a multiple of the granule. Maps nothing.
  AddressSpace(const Gpu& gpu, int slots, std::uint64_t slot_bytes);
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  std::byte* slot(int rank) const noexcept {
    return base_ + static_cast<std::uint64_t>(rank) * slot_bytes_;
  }
  /// The rank whose slot holds `address`, or kNoPe.
  int slot_of(const void* address) const noexcept;
  /// Another PE of this process uses that GPU too: it gets access to all that is mapped and will be.
  void add_device(int device);
  /// Maps the chunk `offset` into the slot of `rank`, readable and writable by every GPU of this process.
  void map(int rank, std::uint64_t offset, const Chunk& chunk);
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
