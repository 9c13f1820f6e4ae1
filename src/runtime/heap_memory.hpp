// The memory behind the symmetric heap of one PE: shared files of the host, or a GPU's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cuda/shared_piece.hpp"
#include "isotope/device/objects.hpp"
#include "os/fd.hpp"
#include "runtime/exchange.hpp"
#include "runtime/process_job.hpp"

namespace isotope::runtime {

/// What a PE brings to World::register_memory: the pieces of memory that the range lies in.
struct WindowOffer {
  std::uint64_t lead = 0;   // from the start of the first piece to the range
  std::uint64_t bytes = 0;  // of all pieces
  std::vector<cuda::SharedPiece> pieces;
};

class HeapMemory {
 public:
  virtual ~HeapMemory() = default;

  /// Where PE `rank`'s slot begins. Kernels use these addresses; the host where on_host().
  virtual std::byte* slot(int rank) const = 0;
  /// Rank whose slot holds `address`, or kNoPe.
  virtual int slot_of(const void* address) const = 0;
  /// Whether host code may use the memory in place.
  virtual bool on_host() const = 0;

  /// Makes this PE's slot hold at least `need` bytes from its start. What the other PEs have to map then; not there()
  /// when that is nothing. Nothing counts before keep_growth. Throws Error.
  virtual cuda::SharedPiece grow(std::uint64_t need) = 0;
  /// Maps what PE `rank`, in process `pid`, has just grown by, as much as this PE has.
  virtual void map_growth(int rank, std::int32_t pid, const cuda::SharedPiece& piece) = 0;
  /// Collective over the World, when all have mapped it: teams with multicast addresses reach it too. All throw alike.
  virtual void reach_growth(Exchange& world, CallSite site) = 0;
  virtual void keep_growth() = 0;
  virtual void drop_growth() noexcept = 0;

  /// Pieces of registered memory lie at multiples of this, in the window range as where the user has them.
  virtual std::uint64_t window_granule() const = 0;
  /// Takes hold of memory that the user owns, until keep_window or drop_window. Throws Error for what cannot be shared.
  virtual WindowOffer offer_window(void* data, std::uint64_t bytes) = 0;
  /// Maps what PE `rank`, in process `pid`, offers, `offset` into its window range. Called for every rank, this one
  /// too.
  virtual void map_window(int rank, std::int32_t pid, std::uint64_t offset,
                          std::span<const cuda::SharedPiece> pieces) = 0;
  /// Makes the user's own addresses name what the others have mapped, where they do not yet.
  virtual void join_window() = 0;
  /// As reach_growth, of the range that the windows of all PEs lie in.
  virtual void reach_window(std::uint64_t offset, std::uint64_t bytes, Exchange& world, CallSite site) = 0;
  virtual void keep_window() noexcept = 0;
  /// Takes back all that was done since offer_window.
  virtual void drop_window() noexcept = 0;
  /// The memory is the user's alone from now on, who may free it.
  virtual void give_back(void* data, std::uint64_t bytes) noexcept = 0;
  /// All PEs have let go: takes what map_window mapped out of every slot.
  virtual void unmap_window(std::uint64_t offset, std::uint64_t bytes) noexcept = 0;

  virtual void fill(std::byte* at, unsigned char value, std::uint64_t bytes) = 0;
  virtual void prefault(std::byte* at, std::uint64_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::uint64_t bytes) = 0;
  /// Kernels look objects up in a copy of the table that this keeps, where they cannot see the host's.
  virtual void publish_objects(const ObjectTable& table) = 0;
};

/// Files of the host, mapped from the start: growing the file is all it takes.
std::unique_ptr<HeapMemory> host_memory(ProcessJob& job, int rank, os::Fd file);

}  // namespace isotope::runtime
