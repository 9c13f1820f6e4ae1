// The symmetric heap of one PE: agrees with the other PEs on every allocation, and keeps the memory behind it.
//
// Every PE runs the same calls on the same HeapSpace, so offsets agree by construction; each call still exchanges what
// it was asked and what came out, so that a program whose PEs diverge gets the same clear error everywhere, and a PE
// that cannot go along takes the others back with it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "isotope/host/world.hpp"
#include "runtime/exchange.hpp"
#include "runtime/heap_memory.hpp"
#include "runtime/heap_space.hpp"
#include "runtime/object_index.hpp"
#include "runtime/process_job.hpp"

namespace isotope::runtime {

class Heap {
 public:
  /// `max_bytes` is the cap of this PE's heap; `objects` is where kernels look objects up.
  Heap(ProcessJob& job, Exchange& world, std::unique_ptr<HeapMemory> memory, int rank, int size,
       std::uint64_t max_bytes, bool prefault, ObjectTable& objects);

  struct Block {
    std::uint64_t id = 0;
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
  };
  /// Collective. See World::alloc.
  Block allocate(std::uint64_t bytes, const AllocOptions& options, CallSite site);
  /// Collective. See World::free.
  void release(std::uint64_t id, CallSite site);
  /// Collective. See World::register_memory.
  Block register_memory(void* data, std::uint64_t bytes, CallSite site);

  /// Not collective, any thread: this PE lets go of the block. A later allocate or release recycles what all have let
  /// go of.
  void let_go(std::uint64_t id) noexcept;

  HeapMemory& memory() const { return *memory_; }
  HeapUse use() const;
  /// "object 3 + 64 bytes", for messages; "no symmetric object" for any other address.
  std::string describe(const void* address) const;

 private:
  struct Object {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    bool let_go = false;
    void* owner = nullptr;  // where the user has registered memory
    // Of registered memory: the part of the window range that its pieces take. Empty for memory of the heap.
    struct {
      std::uint64_t offset = 0, bytes = 0;
    } window = {};
  };
  void give_back(Object& object) noexcept;
  struct Proposal;
  /// Where the memory that all offer goes: where it begins, and the range that its pieces take. Throws the same on all
  /// PEs.
  Object place_window(void* data, const std::vector<Proposal>& all, CallSite site);
  /// Of how many blocks the PEs have let go.
  struct Waiting {
    std::uint64_t least = 0, most = 0;
  };
  Block try_allocate(std::uint64_t bytes, const AllocOptions& options, CallSite site, Waiting& waiting);
  void share_growth(const char* call, const Proposal& mine, const std::vector<Proposal>& all, CallSite site);
  std::vector<Proposal> agree(const char* call, Proposal& mine, CallSite site, Waiting* waiting);
  void recycle(const Waiting& waiting, CallSite site);
  [[noreturn]] void throw_mismatch(const char* call, const std::vector<Proposal>& all, const Proposal& differs,
                                   CallSite site) const;
  [[noreturn]] void throw_failure(const char* call, const std::vector<Proposal>& all, CallSite site) const;
  void drop(std::uint64_t id);
  /// Shows kernels the table of objects as it is now.
  void publish();
  /// This PE's address of an object.
  std::byte* address_of(const Object& object) const;

  ProcessJob* job_;
  Exchange* world_;
  std::unique_ptr<HeapMemory> memory_;
  int rank_;
  int size_;
  std::uint64_t max_bytes_;
  bool prefault_;
  std::uint64_t fresh_from_ = 0;  // heap memory from here on was never handed out: still zero
  std::uint64_t ordinal_ = 0;     // collective heap calls so far; the same on every PE

  mutable std::mutex mutex_;  // guards what let_go() and use() touch from other threads
  HeapSpace space_;
  HeapSpace windows_;
  std::map<std::uint64_t, Object> objects_;  // by id
  std::uint64_t waiting_ = 0;
  ObjectTable* table_;
  ObjectIndex index_;
};

}  // namespace isotope::runtime
