// Workspace: the symmetric memory that collectives work in, as a small value that a kernel takes as an argument.
//
//   Collectives coll(world);                                                  // host/collectives.hpp makes one
//   world.launch<k>({...}, team, coll.workspace(), ...);
//   all_reduce<ReduceOp::add>(block, team, ws.channel(block.rank()), out, in, n);  // each block on its own channel
//
// A workspace serves one team (teams without a common member may share one). A channel serves one group at a time:
// groups that may be in a collective together use different ones, and each member uses the same one for the same call.
//
// Why calls may follow each other without a barrier: counters only go up, and a slot is written again two rounds later.
// In each round every member hears from every other one. So who begins round r + 2 has heard from everyone in round r +
// 1, and each of them had finished round r before it spoke: nobody still reads what is overwritten.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/base/macros.hpp"
#include "isotope/device/group.hpp"
#include "isotope/device/sync.hpp"
#include "isotope/device/team.hpp"

namespace isotope {

namespace detail {

/// What a member is about to do, compared across members in the checked build.
struct CallSignature {
  std::uint64_t what = 0;   // collective, algorithm, type, operation, accumulation, root, number of blocks
  std::uint64_t count = 0;  // elements
};

/// The first bytes of a channel. All zero at first.
struct ChannelWords {
  TeamWords::Barrier meeting;
  alignas(128) CallSignature signatures[2];  // of this PE, by parity of `calls`; read by the others
  // What only this PE uses.
  alignas(128) std::uint64_t meetings;
  std::uint64_t calls;                     // compared so far
  std::uint64_t rounds;                    // in which members wrote to each other's slots
  std::uint64_t lamport_rounds;            // the same of Lamport slots
  std::uint64_t lamport_bytes[3];          // how much of a slot is not clear
  std::uint64_t ll8_cleared[2];            // the round at whose end Ll8 slots were clear, by parity
  std::uint64_t refused_from, refused_to;  // which of `calls` were refused here, the last ones in a row
};

/// One flag per member, on a line of its own.
struct alignas(128) MemberFlag {
  std::uint64_t value;
};

/// Of eager messages: how many this PE has sent to a member, and taken of its. Nobody else's business.
struct PairCounts {
  std::uint64_t sent, taken;
};

}  // namespace detail

/// The kinds of slots. Each has its own memory: what is a flag to one is data to another.
enum class SlotKind { plain, eager, ll8, ll16, ll128, lamport };
inline constexpr int kSlotKinds = 6;

class Channel;

class Workspace {
 public:
  Workspace() = default;
  /// `memory`: bytes(...) of symmetric memory, zeroed but for the Lamport slots, which are all ones. `members`: the
  /// most that a team using it has. `slot_bytes`: a multiple of 1920.
  ISOTOPE_HD Workspace(char* memory, int channels, int members, std::size_t slot_bytes)
      : memory_(memory),
        slot_bytes_(slot_bytes),
        channel_bytes_(channel_bytes(members, slot_bytes)),
        channels_(channels),
        members_(members) {
    for (int k = 0; k < kSlotKinds; ++k) {
      offsets_[k] = offset_of(static_cast<SlotKind>(k), members, slot_bytes);
      padded_[k] = padded(static_cast<SlotKind>(k), slot_bytes);
    }
  }

  ISOTOPE_HD int channels() const { return channels_; }
  ISOTOPE_HD int members() const { return members_; }
  /// Data that one member may send to one other in one round.
  ISOTOPE_HD std::size_t slot_bytes() const { return slot_bytes_; }
  ISOTOPE_HD Channel channel(int index) const;

  /// Slots of a kind that one pair of members has: two, three for Lamport.
  ISOTOPE_HD static constexpr int copies(SlotKind kind) { return kind == SlotKind::lamport ? 3 : 2; }
  /// Bytes of a slot: flags lie among the data of some.
  ISOTOPE_HD static constexpr std::size_t padded(SlotKind kind, std::size_t slot_bytes) {
    switch (kind) {
      case SlotKind::ll8:
      case SlotKind::ll16:
        return slot_bytes * 2;
      case SlotKind::ll128:
        return slot_bytes / 120 * 128;
      case SlotKind::plain:
      case SlotKind::eager:
      case SlotKind::lamport:
        break;
    }
    return slot_bytes;
  }
  /// Where the slots of a kind begin in a channel.
  ISOTOPE_HD static constexpr std::size_t offset_of(SlotKind kind, int members, std::size_t slot_bytes) {
    std::size_t at =
        counts_at(members) + (static_cast<std::size_t>(members) * sizeof(detail::PairCounts) + 127) / 128 * 128;
    for (int k = 0; k < static_cast<int>(kind); ++k) {
      const auto before = static_cast<SlotKind>(k);
      at += padded(before, slot_bytes) * static_cast<std::size_t>(copies(before) * members);
    }
    return at;
  }
  ISOTOPE_HD static constexpr std::size_t channel_bytes(int members, std::size_t slot_bytes) {
    return offset_of(SlotKind::lamport, members, slot_bytes) + 3 * slot_bytes * static_cast<std::size_t>(members);
  }

 private:
  friend class Channel;
  /// Where the counts of eager messages begin: after the words, and four flags for each member.
  ISOTOPE_HD static constexpr std::size_t counts_at(int members) {
    return sizeof(detail::ChannelWords) + 4 * static_cast<std::size_t>(members) * sizeof(detail::MemberFlag);
  }

  char* memory_ = nullptr;
  std::size_t slot_bytes_ = 0;
  // What the three functions above say, worked out by the host: a kernel that begins has better things to do.
  std::size_t channel_bytes_ = 0;
  std::size_t offsets_[kSlotKinds] = {}, padded_[kSlotKinds] = {};
  std::int32_t channels_ = 0;
  std::int32_t members_ = 0;
};

/// Slots are a multiple of this: whole words and lines of every kind.
inline constexpr std::size_t kSlotGranule = 1920;

/// One channel of a workspace. A Workspace converts to its first one.
class Channel {
 public:
  Channel() = default;
  ISOTOPE_HD Channel(const Workspace& workspace) : Channel(workspace, 0) {}
  ISOTOPE_HD Channel(const Workspace& workspace, int index) : workspace_(workspace), index_(index) {}

  ISOTOPE_HD const Workspace& workspace() const { return workspace_; }
  ISOTOPE_HD int index() const { return index_; }
  ISOTOPE_HD std::size_t slot_bytes() const { return workspace_.slot_bytes_; }

  // Addresses are this PE's own; Team::at gives a member's.
  ISOTOPE_HD detail::ChannelWords* words() const { return reinterpret_cast<detail::ChannelWords*>(begin()); }
  /// The flag that member `from` raises here: the last round whose data it has sent.
  ISOTOPE_HD std::uint64_t* flag(int from) const { return &flags()[from].value; }
  /// The same in the other direction: the last round that `from` has taken, or answered.
  ISOTOPE_HD std::uint64_t* reply(int from) const { return &flags()[workspace_.members_ + from].value; }
  /// How many eager messages member `from` has sent here; and how many of this PE's `to` has taken.
  ISOTOPE_HD std::uint64_t* arrived(int from) const { return &flags()[2 * workspace_.members_ + from].value; }
  ISOTOPE_HD std::uint64_t* taken(int to) const { return &flags()[3 * workspace_.members_ + to].value; }
  ISOTOPE_HD detail::PairCounts* counts(int with) const {
    return reinterpret_cast<detail::PairCounts*>(begin() + Workspace::counts_at(workspace_.members_)) + with;
  }
  /// The slot that member `from` fills here in that round.
  ISOTOPE_HD char* slot(SlotKind kind, std::uint64_t round, int from) const {
    return slots(kind, round) + static_cast<std::size_t>(from) * slot_stride(kind);
  }
  /// The first member's, and the bytes from one member's to the next one's.
  ISOTOPE_HD char* slots(SlotKind kind, std::uint64_t round) const {
    const auto copies = static_cast<std::uint64_t>(Workspace::copies(kind));
    return begin() + workspace_.offsets_[static_cast<int>(kind)] +
           static_cast<std::size_t>(round % copies) * static_cast<std::size_t>(workspace_.members_) * slot_stride(kind);
  }
  ISOTOPE_HD std::size_t slot_stride(SlotKind kind) const { return workspace_.padded_[static_cast<int>(kind)]; }

 private:
  ISOTOPE_HD detail::MemberFlag* flags() const {
    return reinterpret_cast<detail::MemberFlag*>(begin() + sizeof(detail::ChannelWords));
  }
  ISOTOPE_HD char* begin() const {
    return workspace_.memory_ + static_cast<std::size_t>(index_) * workspace_.channel_bytes_;
  }

  Workspace workspace_;
  std::int32_t index_ = 0;
};

ISOTOPE_HD Channel Workspace::channel(int index) const { return Channel(*this, index); }

}  // namespace isotope
