// reduce_scatter by pull, for results of up to some megabytes, with work in both of its meetings: inputs are copied
// into shared memory by the GPU's engine, and summed there.
//
// A meeting of the members is mostly waiting, and by loads and stores of its threads a block can only wait. Here one
// warp, the carrier, meets the others and asks the engine for copies; the workers sum what has landed, chunk by chunk.
//
//   carrier  | tell the others, ask for own inputs | wait | ask for theirs | all have landed: tell |      wait      |
//   workers  |                                            | sum and store chunks    | sum the last |   store them   |
//
// - This PE's own inputs land while the members come together, for which nobody else has to be ready: a member's input
//   is complete when that member calls.
// - The others wait at the end to hear that their inputs have been read, which is known as soon as the last of them
// have landed, before
//   those are summed. The results are this PE's alone.
// - To tell them, a release waits for all stores of the multiprocessor that are under way. So the last chunks are
// stored after it,
//   while the members part; the ones before have mostly arrived by then.
//
// The two meetings are those of reduce_scatter_pull, whose members may be anywhere between them: a member that takes
// this way and one that takes the other understand each other. The sums are the same, to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/base/bits.hpp"
#include "isotope/base/data_type.hpp"
#include "isotope/collective/fold.hpp"
#include "isotope/collective/stage.hpp"
#include "isotope/device/combine.hpp"
#include "isotope/device/sync.hpp"

namespace isotope::detail {

/// How a block goes about it, and what its launch has to bring.
namespace landed {

inline constexpr std::uint32_t kWorkers = 256, kThreads = kWorkers + kWarpSize;
/// A word of each worker, and how many of these a block takes at most.
inline constexpr std::uint32_t kChunkBytes = kWorkers * 16, kChunks = 8;
/// Chunks whose sums are stored once the others have been told.
inline constexpr std::uint32_t kHeld = 2;
inline constexpr std::size_t kMostBytes = std::size_t{kChunks} * kChunkBytes;  // of a block's results
/// Shared memory of a block, of which a multiprocessor has room for two: one of this call and one of the next, which
/// comes early.
inline constexpr std::size_t kRoom = std::size_t{106} * 1024, kHeader = 256;

/// Chunks of the others' inputs that have a place of their own; what lands later waits for one.
constexpr std::uint32_t stages(int members) {
  const std::size_t fit = (kRoom - kHeader - kMostBytes) / (static_cast<std::size_t>(members - 1) * kChunkBytes);
  return fit < kChunks ? static_cast<std::uint32_t>(fit) : kChunks;
}
constexpr std::size_t shared_bytes(int members) {
  return kHeader + kMostBytes + stages(members) * static_cast<std::size_t>(members - 1) * kChunkBytes;
}

/// Whether such a call has a kernel of it, wherever its buffers lie: the same for all members.
constexpr bool can_sum(DataType type, ReduceOp op, Accumulate accumulate, int members) {
  const bool narrow = type == DataType::f16 || type == DataType::bf16;
  return op == ReduceOp::add && (type == DataType::f32 || (narrow && accumulate == Accumulate::wide)) &&
         (members == 2 || members == 4 || members == 8);
}
/// Whether `blocks` of them can make a result of that size between buffers that lie like these.
inline bool can_do(const void* dst, const void* src, std::size_t bytes, std::size_t blocks) {
  const auto ends = reinterpret_cast<std::uintptr_t>(dst) | reinterpret_cast<std::uintptr_t>(src);
  return ((ends | bytes) & 15) == 0 && bytes != 0 && bytes <= blocks * kMostBytes;
}

/// What lies in shared memory before the chunks.
struct Header {
  platform::Landing landed[kChunks];  // own and others' inputs of a chunk
  platform::Landing freed[kChunks];   // the workers have read the place in which the inputs of a later chunk will land
  platform::Landing told;             // the others know that their inputs have been read
  std::uint32_t failed;               // the members have not met
};
static_assert(sizeof(Header) <= kHeader);

/// Words of 16 bytes that each block takes of a result, as far as there are: whole lines, so that blocks share none.
/// Worked out by the host, since a GPU takes long to divide.
constexpr std::uint32_t words_of_block(std::size_t bytes, std::size_t blocks) {
  constexpr std::size_t kLine = 128;
  const std::size_t lines = (bytes + kLine - 1) / kLine;
  return static_cast<std::uint32_t>((lines + blocks - 1) / blocks * (kLine / 16));
}
struct Share {
  std::size_t begin;
  std::uint32_t words;
};
ISOTOPE_HD Share share_of(std::size_t words, std::uint32_t each_block, std::uint32_t block) {
  const std::size_t begin = std::size_t{each_block} * block;
  if (begin >= words) return {words, 0};
  return {begin, words - begin < each_block ? static_cast<std::uint32_t>(words - begin) : each_block};
}

/// A block's part, in such words.
struct Part {
  std::uint32_t words;
  ISOTOPE_HD std::uint32_t chunks() const { return (words + kWorkers - 1) / kWorkers; }
  ISOTOPE_HD std::uint32_t bytes_of(std::uint32_t chunk) const {
    const std::uint32_t left = words * 16 - chunk * kChunkBytes;
    return left < kChunkBytes ? left : kChunkBytes;
  }
};

/// Shared memory, and where in it each chunk of each input lies.
template <int Members>
struct Places {
  static constexpr std::uint32_t kStages = stages(Members), kOthers = Members - 1;
  char* shared;

  ISOTOPE_HD Header& header() const { return *reinterpret_cast<Header*>(shared); }
  ISOTOPE_HD char* own(std::uint32_t chunk) const { return shared + kHeader + chunk * kChunkBytes; }
  ISOTOPE_HD char* others(std::uint32_t chunk, std::uint32_t k) const {
    return shared + kHeader + kMostBytes + (chunk % kStages * kOthers + k) * kChunkBytes;
  }
};

/// A carrier's lane and the member that it meets.
ISOTOPE_HD Opposite opposite_of_carrier(const Stage<Block>& on) {
  const Warp warp = this_warp();
  const ChannelBarrier where{on.channel.words()};
  if constexpr (platform::kIsGpu) {
    return opposite_of_lane(warp, on.team, where);
  } else {
    return opposite_of(warp, on.team, where);
  }
}
/// A meeting of the members by the carriers of their blocks. `meanwhile`: done once the others are told.
template <class Meanwhile>
ISOTOPE_HD bool meet(const Stage<Block>& on, const Opposite& other, std::uint64_t round, Order order,
                     const Meanwhile& meanwhile) {
  const Warp warp = this_warp();
  if constexpr (platform::kIsGpu) {
    return meet_as_one(warp, on.team, other, round, order, on.call, meanwhile);
  } else {
    const bool well = meet_opposite(on.team, other, round, order, on.call, meanwhile);
    warp.sync();
    return told(on.team, warp.all(well));  // each lane waits for one, also where a group's leader alone waits
  }
}

/// The carrier's side. `from`: the members' inputs of this part, this PE's own first.
template <int Members>
ISOTOPE_HD bool carry(const Stage<Block>& on, const Opposite& other, const Places<Members>& places, const Part& part,
                      const char* const (&from)[Members]) {
  constexpr std::uint32_t kStages = Places<Members>::kStages, kOthers = Places<Members>::kOthers;
  const Warp warp = this_warp();
  const std::uint32_t lane = warp.thread_rank(), chunks = part.chunks();
  Header& header = places.header();
  std::uint64_t* rounds = &on.channel.words()->meetings;
  const std::uint64_t last = *rounds;
  // Where a kernel begins and ends, that orders what lies before and after it, also for the engine.
  if (!on.kernel_orders()) platform::before_landing();
  const bool met = meet(on, other, last + 1, on.kernel_orders() ? Order::acquire : Order::acq_rel, [&] {
    if (lane >= chunks) return;
    header.landed[lane].arrive_expecting(part.bytes_of(lane));
    header.landed[lane].land(places.own(lane), from[0] + lane * kChunkBytes, part.bytes_of(lane));
  });
  if (!met) {
    if (lane == 0) {
      header.failed = 1;
      *rounds = last + 1;
    }
    warp.sync();
    if (lane < chunks) header.landed[lane].arrive();
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk)
      header.landed[chunk].await();  // nothing lands where the block has left
    return false;
  }
  platform::before_landing();
  if (lane < chunks) header.landed[lane].arrive_expecting(kOthers * part.bytes_of(lane));
  const auto land = [&](std::uint32_t chunk, std::uint32_t k) {
    const char* input = nullptr;  // not indexed by a lane: the addresses would go through memory
    ISOTOPE_UNROLL
    for (std::uint32_t i = 0; i < kOthers; ++i)
      if (k == i) input = from[i + 1];
    header.landed[chunk].land(places.others(chunk, k), input + chunk * kChunkBytes, part.bytes_of(chunk));
  };
  for (std::uint32_t i = lane; i < kStages * kOthers && i / kOthers < chunks; i += kWarpSize)
    land(i / kOthers, i % kOthers);
  if constexpr (kStages < kChunks) {
    for (std::uint32_t chunk = kStages; chunk < chunks; ++chunk) {
      header.freed[chunk].await();
      if (lane < kOthers) land(chunk, lane);
    }
  }
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) header.landed[chunk].await();
  return meet(on, other, last + 2, on.kernel_orders() ? Order::release : Order::acq_rel, [&] {
    warp.sync();
    if (lane == 0) {
      header.told.arrive();
      *rounds = last + 2;
    }
  });
}

/// A worker's side. One loop: code is fetched before it runs, and each chunk's own would be fetched once to be run
/// once.
template <int Members, class R>
ISOTOPE_HD bool work(const R& r, const Places<Members>& places, const Part& part, char* dst) {
  constexpr std::uint32_t kStages = Places<Members>::kStages, kOthers = Places<Members>::kOthers;
  const std::uint32_t rank = this_block().thread_rank(), chunks = part.chunks(), offset = rank * 16;
  if (chunks == 0) return true;
  Header& header = places.header();
  const auto is_there = [&](std::uint32_t chunk) { return chunk * kWorkers + rank < part.words; };
  header.landed[0].await();
  if (header.failed != 0) return false;  // nothing else has landed, and nothing will
  const std::uint32_t direct = chunks > kHeld ? chunks - kHeld : 0;
  ISOTOPE_GPU_ROLLED
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
    header.landed[chunk].await();
    if (is_there(chunk)) {
      Bits128 values[Members];
      values[0] = platform::load_wide<Bits128>(places.own(chunk) + offset);
      ISOTOPE_UNROLL
      for (std::uint32_t k = 0; k < kOthers; ++k)
        values[k + 1] = platform::load_wide<Bits128>(places.others(chunk, k) + offset);
      const Bits128 sum = fold_word(r, values, Members);
      if (chunk < direct) {
        platform::store_once(dst + chunk * kChunkBytes + offset, sum);
      } else {
        platform::store_wide(places.own(chunk) + offset, sum);
      }
    }
    if constexpr (kStages < kChunks) {
      if (chunk + kStages < chunks) {
        this_warp().sync();
        if (this_warp().is_leader()) header.freed[chunk + kStages].arrive();
      }
    }
  }
  header.told.await();
  ISOTOPE_GPU_ROLLED
  for (std::uint32_t chunk = direct; chunk < chunks; ++chunk)
    if (is_there(chunk))
      platform::store_once(dst + chunk * kChunkBytes + offset,
                           platform::load_wide<Bits128>(places.own(chunk) + offset));
  return true;
}

}  // namespace landed

/// By a block of landed::kThreads threads. `words` of 16 bytes are the result, of which each block takes `each_block`
/// (landed::words_of_block), by its part of the Stage. `shared`: the block's own until it ends,
/// landed::shared_bytes(Members) at an alignment of 128. `begin`: called by the carrier once the block is ready, before
/// it looks at any memory or meets anybody. Each thread returns whether it did its part; the block is not synchronised
/// at the end, and warps leave when they are done.
template <int Members, class R, class Begin>
ISOTOPE_HD bool reduce_scatter_landed(const Stage<Block>& on, const R& r, char* dst, const char* src, std::size_t words,
                                      std::uint32_t each_block, char* shared, Begin begin) {
  const landed::Places<Members> places{shared};
  landed::Header& header = places.header();
  const std::uint32_t rank = on.group.thread_rank();
  const bool carries = rank >= landed::kWorkers;
  // By the carrier alone: this and the sync may be done while the kernel before still works, beside it, and slow it
  // down.
  if (carries) {
    const std::uint32_t lane = rank - landed::kWorkers;
    if (lane < landed::kChunks) {
      header.landed[lane].begin(2);
      header.freed[lane].begin(landed::kWorkers / kWarpSize);
    }
    if (lane == 0) {
      header.told.begin(1);
      header.failed = 0;
    }
  }
  on.group.sync();
  const landed::Share share = landed::share_of(words, each_block, on.part);
  const landed::Part part{share.words};
  dst += share.begin * 16;
  if (!carries) return landed::work(r, places, part, dst);
  const char* from[Members];
  const char* mine = src + (static_cast<std::size_t>(on.me()) * words + share.begin) * 16;
  ISOTOPE_UNROLL
  for (int k = 0; k < Members; ++k) from[k] = on.team.at(mine, on.next(k));
  Opposite other = landed::opposite_of_carrier(on);
  other.theirs = platform::ready(other.theirs);
  other.mine = platform::ready(other.mine);
  platform::fetch_ahead(&on.channel.words()->meetings);
  begin();
  return landed::carry<Members>(on, other, places, part, from);
}

}  // namespace isotope::detail
