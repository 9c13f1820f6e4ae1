// The multicast addresses of one PE's teams.
//
// A team whose members drive different GPUs that can multicast has a range of addresses like a slot: what all members
// have `offset` into their slots, one access reaches `offset` into the range. Behind every piece of memory there lies
// one multicast object a team. They are made when memory comes, for all teams, and when a team comes, for all memory;
// both are collective, so that every member does its part in the order that CUDA wants.
#pragma once

#if ISOTOPE_HAVE_CUDA

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "cuda/multicast.hpp"
#include "runtime/exchange.hpp"
#include "runtime/gpu_memory.hpp"
#include "runtime/outcome.hpp"
#include "runtime/teams.hpp"

namespace isotope::runtime {

class GpuMulticast {
 public:
  /// The GPU of a PE, and whether it can multicast.
  struct Seat {
    std::array<char, 16> gpu{};
    bool can = false;
  };
  /// `seats` by rank of the World.
  GpuMulticast(std::shared_ptr<const cuda::Gpu> gpu, std::shared_ptr<GpuShare> share, std::uint64_t slot_bytes,
               int rank, std::vector<Seat> seats, const TeamCells& cells);

  /// Collective over `over`, the PEs `over_members` of the World: some of them, `members`, are this PE's new team `id`;
  /// none where it is in no team. The team gets a range, or has none where one member cannot go along.
  void open(std::uint32_t id, const std::vector<std::int32_t>& members, Exchange& over,
            const std::vector<std::int32_t>& over_members, CallSite site);
  /// From this PE's slot to the team's range; 0 where it has none.
  std::int64_t bytes_to(std::uint32_t id) const;

  /// A range of every slot, and which allocations of this PE lie in it. Offsets are from the slot's start.
  struct Part {
    std::uint64_t offset = 0, bytes = 0;
  };
  struct Region : Part {
    std::vector<Part> mine;
  };
  /// Collective over the World: all teams reach the region, or none does and all PEs throw alike.
  void add(const Region& region, Exchange& world, CallSite site);
  void remove(std::uint64_t offset) noexcept;

 private:
  struct Range {
    std::vector<std::int32_t> members;
    std::unique_ptr<cuda::AddressSpace> space;
    std::map<std::uint64_t, cuda::Chunk> objects;  // by the offset of their region
  };
  /// An object that is being made.
  struct Link {
    std::uint32_t team = 0;
    Range* range = nullptr;
    const Region* region = nullptr;
    cuda::Chunk object = {};
    cuda::Chunk::Exported exported = {};
  };
  /// Makes them all, in rounds with all of `over`. What each of `concerned` met with; the links count where nobody
  /// failed.
  std::vector<Outcome> connect(std::vector<Link>& links, Outcome outcome, Exchange& over,
                               const std::vector<std::int32_t>& over_members,
                               const std::vector<std::int32_t>& concerned, CallSite site) const;
  void bind_and_map(const Link& link) const;
  void cut(const Region& region, const cuda::Chunk& object, Range& range) const noexcept;
  bool eligible(const std::vector<std::int32_t>& members) const;

  std::shared_ptr<const cuda::Gpu> gpu_;
  std::shared_ptr<GpuShare> share_;
  std::uint64_t slot_bytes_;
  int rank_;
  std::vector<Seat> seats_;
  std::vector<std::int32_t> everyone_;
  const TeamCells* cells_;
  bool possible_ = false;  // that any team has one: the same on every PE
  std::map<std::uint64_t, Region> regions_;
  std::map<std::uint32_t, Range> teams_;
};

}  // namespace isotope::runtime

#endif  // ISOTOPE_HAVE_CUDA
