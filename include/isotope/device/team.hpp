// Team: an ordered set of PEs, as a small value that a kernel takes as its first argument.
//
//   ISOTOPE_KERNEL void k(Team team, Span<float> x) {
//     float* theirs = team.at(x.data(), (team.rank() + 1) % team.size());
//   }
//
// Trivially copyable, no globals behind it. Made by the host (World::team, World::split_...); valid while that World
// and, for a split, its OwnedTeam live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "isotope/base/macros.hpp"
#include "isotope/device/control.hpp"

namespace isotope {

namespace runtime {
struct TeamAccess;
}  // namespace runtime

/// Marks "no PE in particular", and the answer of a translation that has none.
inline constexpr int kNoPe = -1;

namespace detail {
/// Of a team of arbitrary PEs. A function of its own: compilers mix it with the way that almost all teams take.
ISOTOPE_COLD std::ptrdiff_t distance_by_table(int world_rank, int from, std::int64_t slot_bytes) {
  return static_cast<std::ptrdiff_t>(world_rank - from) * slot_bytes;
}
}  // namespace detail

class Team {
 public:
  /// An empty team. Kernels get theirs from the host.
  Team() = default;

  ISOTOPE_HD int rank() const { return rank_; }
  ISOTOPE_HD int size() const { return size_; }

  /// World rank of member `rank`.
  ISOTOPE_HD int world_rank(int rank) const { return table() ? table()[rank] : start_ + rank * pe_stride_; }
  /// Team rank of a PE of the World, or kNoPe when it is no member.
  ISOTOPE_HD int rank_of(int world_rank) const {
    if (table()) {
      for (int i = 0; i < size_; ++i)
        if (table()[i] == world_rank) return i;
      return kNoPe;
    }
    const int distance = world_rank - start_;
    if (size_ == 0 || distance % pe_stride_ != 0) return kNoPe;
    const int found = distance / pe_stride_;
    return found >= 0 && found < size_ ? found : kNoPe;
  }

  /// Bytes from this PE's copy of any symmetric object to that of member `rank`: (rank - me) * stride, one multiply for
  /// the World and for strided teams; one table load more for a team of arbitrary PEs. Whole pages: all copies are
  /// aligned alike.
  ISOTOPE_HD std::ptrdiff_t distance(int rank) const {
    // Without a condition, and so outside of loops.
    const std::ptrdiff_t strided = static_cast<std::ptrdiff_t>(rank - rank_) * member_bytes_;
    return table() == nullptr ? strided : detail::distance_by_table(table()[rank], world_rank_, slot_bytes_);
  }
  /// Where member `rank` keeps the symmetric object that this PE has at `p`.
  template <class T>
  ISOTOPE_HD T* at(T* p, int rank) const {
    using Bytes = std::conditional_t<std::is_const_v<T>, const char, char>;
    return reinterpret_cast<T*>(reinterpret_cast<Bytes*>(p) + distance(rank));
  }

  /// The address at which one access reaches the object that this PE has at `p` on every member, or null where the
  /// hardware or the team has none. device/multimem.hpp works with and without it.
  template <class T>
  ISOTOPE_HD T* multicast(T* p) const {
    if (multicast_bytes_ == 0) return nullptr;
    using Bytes = std::conditional_t<std::is_const_v<T>, const char, char>;
    return reinterpret_cast<T*>(reinterpret_cast<Bytes*>(p) + multicast_bytes_);
  }

  /// The scope that reaches every member: `device` where all of them drive this PE's GPU, whose L2 cache is where their
  /// accesses meet; `system` otherwise. For the library's own release stores (reach.hpp), which are cheaper so.
  ISOTOPE_HD Scope reach() const { return platform::kIsGpu && one_gpu_ != 0 ? Scope::device : Scope::system; }

  /// Whether loads and stores reach that member. On one host they reach every member. A call that names a member that
  /// is not reachable, or no member at all, does nothing, records the error and stops the team.
  ISOTOPE_HD bool reachable(int rank) const {
    return static_cast<std::uint32_t>(rank) < static_cast<std::uint32_t>(size_);
  }

  /// Whether a call on this team has given up: puts, signals and waits do nothing then. Where looking it up in memory
  /// is dear, this knows what happened before the kernel started, and to calls of this thread with this Team and its
  /// references, not with copies of it; other threads find out in their next wait.
  ISOTOPE_HD bool stopped() const {
    if constexpr (platform::kStopIsCheap) {
      return load(&state().stopped) != 0;
    } else {
      return marked_ != 0;
    }
  }
  /// Called by the platform when a kernel starts, for Teams that are its parameters, and through begin_kernel
  /// (kernel_order.hpp) by kernels for others: a call of an earlier kernel may have given up, and the host not have
  /// reported it yet.
  ISOTOPE_HD void begin_kernel() {
    if constexpr (!platform::kStopIsCheap) marked_ = load(&state().stopped);
  }
  /// Called by every thread of a group whose call gave up.
  ISOTOPE_HD void mark_stopped() const {
    if constexpr (!platform::kStopIsCheap) marked_ = 1;
  }

  /// Of a PE that drives a GPU the kernels' state lies there; host code that asks gets a quiet one of its own.
  ISOTOPE_HD TeamState& state() const { return platform::kIsGpu ? *state_ : *host_state_; }
  /// This PE's words of the team's barriers.
  ISOTOPE_HD TeamWords* words() const { return words_; }

 private:
  ISOTOPE_HD const std::int32_t* table() const { return platform::kIsGpu ? table_ : host_table_; }

  friend struct runtime::TeamAccess;  // fills it in

  std::int32_t rank_ = 0;
  std::int32_t size_ = 0;
  std::int32_t start_ = 0;            // world rank of member 0
  std::int32_t pe_stride_ = 1;        // world ranks between members; may be negative, never 0
  std::int32_t world_rank_ = 0;       // of this PE
  mutable std::uint32_t marked_ = 0;  // this thread saw a call on this team give up
  std::uint32_t one_gpu_ = 0;         // all members drive the same GPU
  std::int64_t slot_bytes_ = 0;       // between the heaps of neighbouring PEs of the World
  std::int64_t member_bytes_ = 0;     // between those of neighbouring members of a strided team
  // What kernels use, and the same for host code: two places where the PE drives a GPU, one where it does not.
  const std::int32_t* table_ = nullptr;  // world ranks of a team that is not strided
  const std::int32_t* host_table_ = nullptr;
  TeamState* state_ = nullptr;
  TeamState* host_state_ = nullptr;
  TeamWords* words_ = nullptr;
  std::int64_t multicast_bytes_ = 0;  // from this PE's heap to the team's multicast address of it; 0: none
};

static_assert(std::is_trivially_copyable_v<Team>);

}  // namespace isotope
