// How work and memory are shared out: slices, rows of members, and the slots of a workspace.
#include <algorithm>
#include <vector>

#include "isotope/collective/calls.hpp"

namespace isotope {
namespace {

TEST(SliceOf, SharesOutEverythingOnceInWholeUnits) {
  for (const std::size_t count : {0u, 1u, 7u, 31u, 32u, 33u, 97u, 1000u}) {
    for (const int parts : {1, 2, 3, 5, 8, 64}) {
      for (const std::size_t unit : {1u, 16u, 32u, 128u}) {
        std::size_t next = 0, least = count, most = 0;
        for (int index = 0; index < parts; ++index) {
          const detail::Slice slice = detail::slice_of(count, index, parts, unit);
          EXPECT_EQ(slice.begin, next) << count << " in " << parts << " by " << unit;
          EXPECT_TRUE(slice.count == 0 || slice.begin % unit == 0);
          next = slice.begin + slice.count;
          least = std::min(least, slice.count);
          most = std::max(most, slice.count);
        }
        EXPECT_EQ(next, count);
        EXPECT_LT(most - least, 2 * unit) << count << " in " << parts << " by " << unit;
        EXPECT_EQ(detail::slice_of(count, 0, parts, unit).count, most) << "the first one is the longest";
      }
    }
  }
}

TEST(RowLength, IsADivisorNextToTheRoot) {
  const std::vector<int> expected = {1, 2, 3, 2, 5, 3, 7, 4, 3, 5, 11, 4, 13, 7, 5, 4};
  for (int members = 1; members <= 16; ++members)
    EXPECT_EQ(detail::row_length(members), expected[static_cast<std::size_t>(members - 1)]);
}

struct Piece {
  std::size_t begin, end;
  const char* what;
};

TEST(Workspace, NoTwoSlotsOverlap) {
  for (const int members : {1, 2, 3, 8}) {
    for (const std::size_t slot_bytes : {kSlotGranule, 3 * kSlotGranule}) {
      const std::size_t each = Workspace::channel_bytes(members, slot_bytes);
      std::vector<std::uint64_t> memory(3 * each / 8 + 16);
      auto* base = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 127) / 128 * 128);
      const Workspace workspace(base, 3, members, slot_bytes);
      std::vector<Piece> pieces;
      const auto add = [&](const void* p, std::size_t bytes, const char* what) {
        const auto at = static_cast<std::size_t>(static_cast<const char*>(p) - base);
        pieces.push_back({at, at + bytes, what});
      };
      for (int c = 0; c < 3; ++c) {
        const Channel channel = workspace.channel(c);
        add(channel.words(), sizeof(detail::ChannelWords), "words");
        for (int from = 0; from < members; ++from) {
          add(channel.flag(from), sizeof(std::uint64_t), "flag");
          add(channel.reply(from), sizeof(std::uint64_t), "reply");
          add(channel.arrived(from), sizeof(std::uint64_t), "arrived");
          add(channel.taken(from), sizeof(std::uint64_t), "taken");
          add(channel.counts(from), sizeof(detail::PairCounts), "counts");
          for (const SlotKind kind :
               {SlotKind::plain, SlotKind::eager, SlotKind::ll8, SlotKind::ll16, SlotKind::ll128, SlotKind::lamport}) {
            const auto copies = static_cast<std::uint64_t>(Workspace::copies(kind));
            for (std::uint64_t round = 0; round < copies; ++round) {
              const char* slot = channel.slot(kind, round, from);
              EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slot) % 16, 0u);
              EXPECT_EQ(slot, channel.slot(kind, round + copies, from));
              add(slot, Workspace::padded(kind, slot_bytes), "slot");
            }
          }
        }
      }
      std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
      for (std::size_t i = 1; i < pieces.size(); ++i)
        EXPECT_LE(pieces[i - 1].end, pieces[i].begin) << pieces[i - 1].what << " and " << pieces[i].what;
      EXPECT_LE(pieces.back().end, 3 * each);
      // Each kind has room for its data and its flags.
      EXPECT_EQ(Workspace::padded(SlotKind::plain, slot_bytes), slot_bytes);
      EXPECT_EQ(Workspace::padded(SlotKind::ll8, slot_bytes), slot_bytes / 4 * 8);
      EXPECT_EQ(Workspace::padded(SlotKind::ll16, slot_bytes), slot_bytes / 8 * 16);
      EXPECT_EQ(Workspace::padded(SlotKind::ll128, slot_bytes), slot_bytes / 120 * 128);
    }
  }
}

TEST(WhyNot, SaysWhatThereIs) {
  EXPECT_EQ(why_not(Collective::all_reduce, Algo::lamport, DataType::bf16, ReduceOp::average), nullptr);
  EXPECT_STREQ(why_not(Collective::all_reduce, Algo::lamport, DataType::i32, ReduceOp::add),
               "lamport needs a value to spare, and integers have none");
  EXPECT_STREQ(why_not(Collective::all_reduce, Algo::ll8, DataType::f64, ReduceOp::add),
               "ll8 carries 4 bytes in a word");
  EXPECT_EQ(why_not(Collective::all_gather, Algo::ll8, DataType::f64, ReduceOp::bit_or), nullptr)
      << "nothing is combined";
  EXPECT_STREQ(why_not(Collective::all_gather, Algo::ring, DataType::f64, ReduceOp::add),
               "the collective has no such algorithm");
  EXPECT_EQ(why_not(Collective::broadcast, Algo::automatic, DataType::u8, ReduceOp::add), nullptr);
}

}  // namespace
}  // namespace isotope
