// The memory behind the symmetric heap of one PE: shared files of the host, or a GPU's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "isotope/device/objects.hpp"
#include "os/fd.hpp"
#include "runtime/process_job.hpp"

namespace isotope::runtime {

class HeapMemory {
 public:
  virtual ~HeapMemory() = default;

  /// Where PE `rank`'s slot begins. Kernels use these addresses; the host where on_host().
  virtual std::byte* slot(int rank) const = 0;
  /// Rank whose slot holds `address`, or kNoPe.
  virtual int slot_of(const void* address) const = 0;
  /// Whether host code may use the memory in place.
  virtual bool on_host() const = 0;

  /// Makes this PE's slot hold at least `need` bytes from its start. What the other PEs have to map then, as a descriptor
  /// of this process; -1 when there is nothing to map. Nothing counts before keep_growth. Throws Error.
  virtual int grow(std::uint64_t need) = 0;
  /// Maps what PE `rank`, in process `pid`, has just grown by, as much as this PE has.
  virtual void map_growth(int rank, std::int32_t pid, int descriptor) = 0;
  virtual void keep_growth() = 0;
  virtual void drop_growth() noexcept = 0;

  virtual void fill(std::byte* at, unsigned char value, std::uint64_t bytes) = 0;
  virtual void prefault(std::byte* at, std::uint64_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::uint64_t bytes) = 0;
  /// Kernels look objects up in a copy of the table that this keeps, where they cannot see the host's.
  virtual void publish_objects(const ObjectTable& table) = 0;
};

/// Files of the host, mapped from the start: growing the file is all it takes.
std::unique_ptr<HeapMemory> host_memory(ProcessJob& job, os::Fd file);

}  // namespace isotope::runtime
