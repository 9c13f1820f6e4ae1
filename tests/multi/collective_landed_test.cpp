// reduce_scatter through shared memory (collective/landed.hpp): a kernel's blocks of one carrier and workers, by every
// platform; back to back without the host in between, in place, beside members that take the ordinary way, and where a
// member does not come.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "isotope/base/error.hpp"
#include "isotope/collective/landed.hpp"
#include "isotope/collective/reduction.hpp"
#include "isotope/isotope.hpp"
#include "support/job_shape.hpp"

namespace isotope {
namespace {

namespace landed = detail::landed;

class CollectiveLanded : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(CollectiveLanded);

constexpr std::uint32_t kMostBlocks = 3;
constexpr std::size_t kMostWords = kMostBlocks * landed::kMostBytes / 16, kFloats = 4;  // of a word
constexpr std::size_t kGuard = 8;
constexpr float kPoison = -1;

using Sum = Reduction<float, ReduceOp::add>;

/// Of sizes so different that the order in which they are added shows in the sum's last bits.
ISOTOPE_HD float value_of(int pe, std::size_t i, int round) {
  const std::size_t at = static_cast<std::size_t>(pe) * 131 + i * 7 + static_cast<std::size_t>(round) * 17;
  return (static_cast<float>(at % 1009) + 0.37f) * static_cast<float>(1u << at % 19);
}
/// What the ordinary way makes too: from the result's own member on.
ISOTOPE_HD float sum_of(int me, int members, std::size_t i, int round) {
  float sum = value_of(me, i, round);
  for (int k = 1; k < members; ++k) sum += value_of((me + k) % members, i, round);
  return sum;
}

struct Round {
  int number;
  std::size_t words;  // of each member's result
  std::uint32_t each_block;
  bool in_place, mixed;  // mixed: every other member takes the ordinary way
};

/// By a grid: this round's input, and a result that has to be overwritten.
ISOTOPE_KERNEL void fill(Team team, float* src, float* dst, Round round) {
  const Block block = this_block();
  const std::size_t rank = block.rank() * block.size() + block.thread_rank(),
                    threads = block.grid_size() * block.size();
  const std::size_t each = round.words * kFloats, all = each * static_cast<std::size_t>(team.size());
  for (std::size_t i = rank; i < all; i += threads) src[i] = value_of(team.rank(), i, round.number);
  for (std::size_t i = rank; i < each + kGuard; i += threads) dst[i] = kPoison;
}

template <int Members>
ISOTOPE_KERNEL void scatter_sums(Team team, Workspace workspace, float* dst, const float* src, Round round,
                                 std::uint32_t* failed) {
  const Block block = this_block();
  const Channel channel = workspace.channel(static_cast<int>(block.rank()));
  const detail::Stage<Block> on{block, team,         channel,          {"scatter_sums", CallSite::current()},
                                false, block.rank(), block.grid_size()};
  char* to = reinterpret_cast<char*>(dst);
  const char* from = reinterpret_cast<const char*>(src);
  bool well = true;
  // GPUs without such an engine have the ordinary way alone.
  constexpr bool kOrdinary = platform::kIsGpu && !platform::kLandsByEngine;
  if (kOrdinary || (round.mixed && team.rank() % 2 == 1)) {
    well = detail::reduce_scatter_pull(on, Sum{}, to, from, {round.words * kFloats, round.words * kFloats});
  } else {
    well = detail::reduce_scatter_landed<Members>(on, Sum{}, to, from, round.words, round.each_block,
                                                  dynamic_shared<char>().data(), [] {});
  }
  if (!well) fetch_add(failed, 1u);
}

/// The first of a call's two meetings, and no more.
ISOTOPE_KERNEL void come_and_leave(Team team, Workspace workspace) {
  const Block block = this_block();
  const Channel channel = workspace.channel(static_cast<int>(block.rank()));
  detail::meet(detail::Stage<Block>{block, team, channel, {"come_and_leave", CallSite::current()}});
}

/// Counts what is wrong with this round's result.
ISOTOPE_KERNEL void look(Team team, const float* dst, Round round, std::uint32_t* wrong) {
  const Block block = this_block();
  const std::size_t rank = block.rank() * block.size() + block.thread_rank(),
                    threads = block.grid_size() * block.size();
  const std::size_t each = round.words * kFloats;
  std::uint32_t found = 0;
  for (std::size_t i = rank; i < each; i += threads) {
    const std::size_t at = static_cast<std::size_t>(team.rank()) * each + i;
    found += dst[i] != sum_of(team.rank(), team.size(), at, round.number) ? 1 : 0;
  }
  if (!round.in_place)
    for (std::size_t i = each + rank; i < each + kGuard; i += threads) found += dst[i] != kPoison ? 1 : 0;
  if (found != 0) fetch_add(wrong, found);
}

class Landed {
 public:
  explicit Landed(World& world)
      : world_(world),
        coll_(world, {.channels = static_cast<int>(kMostBlocks), .slot_bytes = 1920}),
        src_(world.alloc<float>(kMostWords * kFloats * static_cast<std::size_t>(world.size()))),
        dst_(world.alloc<float>(kMostWords * kFloats + kGuard)),
        counts_(world.alloc_zeroed<std::uint32_t>(2)) {}

  /// On the stream of the World: who returns too soon has its input overwritten by the next round's, while others read
  /// it.
  void enqueue(const Round& round, std::uint32_t blocks) {
    fill_all(round);
    call(round, blocks);
    world_.launch<look>({.grid = 2, .block = 64}, world_.team(), result(round), round, counts_.data());
  }
  void call(const Round& round, std::uint32_t blocks) {
    const auto by = [&]<int Members>(std::integral_constant<int, Members>) {
      world_.launch<scatter_sums<Members>, static_cast<int>(landed::kThreads)>(
          {.grid = blocks, .block = landed::kThreads, .shared_bytes = landed::shared_bytes(Members)}, world_.team(),
          coll_.workspace(), result(round), src_.data(), round, counts_.data() + 1);
    };
    if (world_.size() == 2) by(std::integral_constant<int, 2>{});
    if (world_.size() == 3) by(std::integral_constant<int, 3>{});
    if (world_.size() == 5) by(std::integral_constant<int, 5>{});
    if (world_.size() == 8) by(std::integral_constant<int, 8>{});
  }
  void fill_all(const Round& round) {
    world_.launch<fill>({.grid = 2, .block = 64}, world_.team(), src_.data(), dst_.data(), round);
  }
  void only_come(std::uint32_t blocks) {
    world_.launch<come_and_leave>({.grid = blocks, .block = landed::kThreads}, world_.team(), coll_.workspace());
  }
  /// From host code, which needs no kernel.
  bool is_right(const Round& round) const {
    const auto got = dst_.read();
    const std::size_t each = round.words * kFloats, first = static_cast<std::size_t>(world_.rank()) * each;
    bool right = true;
    for (std::size_t i = 0; i < each; ++i)
      right = right && got[i] == sum_of(world_.rank(), world_.size(), first + i, round.number);
    return right;
  }
  /// A barrier's deadline would be as short as that of their kernels.
  void await_failures_of_others() const {
    for (int pe = 1; pe < world_.size(); ++pe)
      for (int ms = 0; counts_.read_from(world_.team(), pe)[1] == 0; ++ms) {
        ASSERT_LT(ms, 30000) << "PE " << pe << " has not failed";
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
  }
  std::uint32_t wrong() const { return counts_.get(0); }
  std::uint32_t failed() const { return counts_.get(1); }

 private:
  float* result(const Round& round) const {
    return round.in_place ? src_.data() + static_cast<std::size_t>(world_.rank()) * round.words * kFloats : dst_.data();
  }

  World& world_;
  Collectives coll_;
  Symmetric<float> src_, dst_;
  Symmetric<std::uint32_t> counts_;
};

Round round_of(int number, std::size_t words, std::uint32_t blocks, bool in_place = false, bool mixed = false) {
  return {number, words, landed::words_of_block(words * 16, blocks), in_place, mixed};
}

/// Around a line, a chunk, what is held, what has places of its own, and what a block takes.
constexpr std::size_t kSizes[] = {1,    7,    8,    9,    255,  256,  257,  511,  512,  513,  600,  767,
                                  1023, 1024, 1025, 1536, 1537, 1791, 1793, 2040, 2047, 2048, 3000, kMostWords};

TEST_P(CollectiveLanded, EverySizeBackToBack) {
  run([](World& world) {
    if (world.size() == 1) return;
    Landed landed(world);
    int number = 0;
    for (const std::size_t words : kSizes) {
      for (const std::uint32_t blocks : {1u, kMostBlocks}) {
        if (words * 16 > blocks * landed::kMostBytes) continue;
        for (const bool in_place : {false, true}) {
          // Some members come late.
          if ((++number * 5 + world.rank() * 3) % 7 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(200 * world.rank()));
          landed.enqueue(round_of(number, words, blocks, in_place), blocks);
        }
      }
    }
    world.synchronize();
    EXPECT_EQ(landed.wrong(), 0u);
    EXPECT_EQ(landed.failed(), 0u);
    world.barrier();
  });
}

TEST_P(CollectiveLanded, BesideMembersThatTakeTheOrdinaryWay) {
  run([](World& world) {
    if (world.size() == 1) return;
    Landed landed(world);
    int number = 0;
    for (int turn = 0; turn < 3; ++turn) {
      for (const std::size_t words : {std::size_t{1}, std::size_t{700}, std::size_t{2048}, kMostWords}) {
        if ((++number + world.rank()) % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
        landed.enqueue(round_of(number, words, kMostBlocks, turn == 1, turn != 2), kMostBlocks);
      }
    }
    world.synchronize();
    EXPECT_EQ(landed.wrong(), 0u);
    EXPECT_EQ(landed.failed(), 0u);
    world.barrier();
  });
}

TEST_P(CollectiveLanded, EndsWhereAMemberDoesNotCome) {
  InitOptions options;
  options.wait_deadline = std::chrono::milliseconds(300);
  run(
      [](World& world) {
        if (world.size() == 1) return;
        Landed landed(world);
        world.barrier();
        if (world.rank() != 0) {
          landed.call(round_of(1, 1100, 2), 2);
          try {
            world.synchronize();
            ADD_FAILURE() << "PE 0 was waited for in vain, and nobody says so";
          } catch (const Error& error) {
            EXPECT_EQ(error.peer(), 0) << error.what();
            EXPECT_NE(std::string(error.what()).find("scatter_sums"), std::string::npos) << error.what();
          }
          EXPECT_EQ(landed.failed(), 2 * landed::kThreads) << "threads that know of it";
        }
      },
      options);
}

TEST_P(CollectiveLanded, EndsWhereAMemberLeavesInBetween) {
  InitOptions options;
  options.wait_deadline = std::chrono::milliseconds(300);
  run(
      [](World& world) {
        if (world.size() == 1) return;
        constexpr std::uint32_t kBlocks = 2;
        Landed landed(world);
        const Round round = round_of(1, 1100, kBlocks);
        landed.fill_all(round);
        world.synchronize();
        world.barrier();
        if (world.rank() == 0) {
          landed.only_come(kBlocks);
          world.synchronize();
          landed.await_failures_of_others();  // until then they read this PE's input
        } else {
          landed.call(round, kBlocks);
          try {
            world.synchronize();
            ADD_FAILURE() << "PE 0 was waited for in vain, and nobody says so";
          } catch (const Error& error) {
            EXPECT_EQ(error.peer(), 0) << error.what();
          }
          // The sums are made by then: only who waits for the others knows that they have not parted.
          const bool landing = !world.drives_gpu() || world.compute_capability() >= 90;
          EXPECT_EQ(landed.failed(), kBlocks * (landing ? kWarpSize : landed::kThreads)) << "threads that know of it";
          EXPECT_TRUE(landed.is_right(round));
        }
      },
      options);
}

TEST(LandedShares, CoverEveryWordOnce) {
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{128}, std::size_t{144}, std::size_t{65536},
                                  std::size_t{1} << 20, (std::size_t{1} << 20) - 16}) {
    for (const std::size_t blocks : {1, 2, 31, 32, 64}) {
      const std::uint32_t each = landed::words_of_block(bytes, blocks);
      EXPECT_EQ(each % 8, 0u) << "whole lines";
      std::size_t next = 0;
      for (std::uint32_t block = 0; block < blocks; ++block) {
        const landed::Share share = landed::share_of(bytes / 16, each, block);
        EXPECT_TRUE(share.words == 0 || share.begin == next) << bytes << " bytes, block " << block << " of " << blocks;
        next += share.words;
        if (bytes <= blocks * landed::kMostBytes) {
          EXPECT_LE(landed::Part{share.words}.chunks(), landed::kChunks);
        }
      }
      EXPECT_EQ(next, bytes / 16);
    }
  }
}

}  // namespace
}  // namespace isotope
