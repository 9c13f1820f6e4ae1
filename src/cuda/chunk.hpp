// Pieces of a GPU's memory without an address: made, taken from another process, or found behind memory that the user
// has.
#pragma once

#include <cstdint>

#include "cuda/gpu.hpp"
#include "cuda/shared_piece.hpp"
#include "os/fd.hpp"

namespace isotope::cuda {

/// What every mapping and size is a multiple of: the largest granularity that GPUs have.
inline constexpr std::uint64_t kChunkGranule = std::uint64_t{2} << 20;

/// How pieces travel to other processes. Decided once for a job: all PEs use one kind.
enum class Travel { descriptors, fabric };
CUmemAllocationHandleType handle_type(Travel travel) noexcept;

/// Memory of a GPU that can be exported as `types`, and the right of one to read and write.
CUmemAllocationProp memory_of(CUdevice device, CUmemAllocationHandleType types) noexcept;
CUmemAccessDesc access_by(CUdevice device) noexcept;

/// Whether pieces of the GPU's memory can really travel as fabric handles: its attribute promises it also where the
/// process may use no channel of the fabric, so one is tried.
bool fabric_works(const Driver& calls, CUdevice device) noexcept;

/// A hold on a piece of a GPU's memory. The memory is freed when the last mapping and the last hold are gone.
class Chunk {
 public:
  Chunk() = default;
  /// `bytes` of it, a multiple of kChunkGranule. Throws Error(out_of_heap) when the GPU has no such piece left.
  static Chunk create(const Gpu& gpu, std::uint64_t bytes, Travel travel);
  /// The piece that a PE of process `pid` has exported.
  static Chunk import(const Gpu& gpu, std::int32_t pid, const SharedPiece& piece);
  /// The piece of `bytes` that is mapped at `at`; empty where none is.
  static Chunk retain(const Gpu& gpu, std::uintptr_t at, std::uint64_t bytes);
  /// The one behind a handle that the caller has got from the driver; it releases it.
  static Chunk adopt(const Gpu& gpu, CUmemGenericAllocationHandle handle, std::uint64_t bytes) noexcept;
  Chunk(Chunk&& other) noexcept;
  Chunk& operator=(Chunk&& other) noexcept;
  ~Chunk();

  explicit operator bool() const noexcept { return calls_ != nullptr; }
  CUmemGenericAllocationHandle handle() const noexcept { return handle_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  CUmemAllocationProp properties() const;

  /// A piece that other processes can import for as long as both this and the Chunk live: a fabric handle holds
  /// nothing.
  struct Exported {
    SharedPiece piece;
    os::Fd descriptor;
  };
  Exported export_as(Travel travel) const;

 private:
  const Driver* calls_ = nullptr;
  CUmemGenericAllocationHandle handle_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace isotope::cuda
