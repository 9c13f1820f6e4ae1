// Rounds of packets: every member sends words to every other one and takes what they send, with no flag besides.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "isotope/collective/direct.hpp"
#include "isotope/collective/packet.hpp"
#include "isotope/collective/reduction.hpp"
#include "isotope/collective/stage.hpp"

namespace isotope::detail {

/// Whether a packet's data is all there, and as aligned as its words.
template <class Data>
ISOTOPE_HD bool is_whole(const void* p, std::size_t valid) {
  return valid >= sizeof(Data) && reinterpret_cast<std::uintptr_t>(p) % alignof(Data) == 0;
}
/// Where it is not. Functions of their own: they would be most of every kernel, which has to be fetched before it runs.
template <class Data>
ISOTOPE_GPU_COLD Data read_piece(const char* p, std::size_t valid) {
  Data piece{};
  std::memcpy(&piece, p, valid < sizeof(Data) ? valid : sizeof(Data));
  return piece;
}
template <class Data>
ISOTOPE_GPU_COLD void write_piece(char* p, Data piece, std::size_t valid) {
  std::memcpy(p, &piece, valid < sizeof(Data) ? valid : sizeof(Data));
}

/// A packet's data from memory that may end before it, or be less aligned.
template <class Data>
ISOTOPE_HD Data read_data(const char* p, std::size_t valid) {
  if (!is_whole<Data>(p, valid)) return read_piece<Data>(p, valid);
  Data data;
  std::memcpy(&data, __builtin_assume_aligned(p, alignof(Data)), sizeof(Data));
  return data;
}
template <class Data>
ISOTOPE_HD void write_data(char* p, const Data& data, std::size_t valid) {
  if (is_whole<Data>(p, valid)) {
    std::memcpy(__builtin_assume_aligned(p, alignof(Data)), &data, sizeof(Data));
  } else {
    write_piece<Data>(p, data, valid);
  }
}

/// The same of a word, `valid` bytes of it at most. A lane's part of a line is aligned to 8 bytes at best.
template <class P>
ISOTOPE_HD typename P::Data read_word(const char* p, std::size_t valid) {
  if constexpr (kByLanes<P>) {
    if ((reinterpret_cast<std::uintptr_t>(p) | valid) % 8 != 0) return read_piece<Bits128>(p, valid);
    Bits128 data;
    if (valid >= 8) data.low = element_at<std::uint64_t>(p, 0);
    if (valid >= 16) data.high = element_at<std::uint64_t>(p, 1);
    return data;
  } else {
    return read_data<typename P::Data>(p, valid);
  }
}
template <class P>
ISOTOPE_HD void write_word(char* p, const typename P::Data& data, std::size_t valid) {
  if constexpr (kByLanes<P>) {
    if ((reinterpret_cast<std::uintptr_t>(p) | valid) % 8 != 0) return write_piece<Bits128>(p, data, valid);
    if (valid >= 8) set_element(p, 0, data.low);
    if (valid >= 16) set_element(p, 1, data.high);
  } else {
    write_data(p, data, valid);
  }
}

/// What a member sends: its part of `src` for member k begins `stride` bytes after that for k - 1, `bytes` long.
template <class P>
struct Outgoing {
  using Data = typename P::Data;
  const char* src;
  std::size_t stride, bytes, element;

  ISOTOPE_HD Data operator()(int k, std::size_t word) const {
    return P::prepare(read_word<P>(begin(k) + data_begin<P>(word), data_length<P>(word, bytes)), element);
  }
  /// Whether that word is all there and aligned, for every member: wide() may be used then, which has no branch.
  ISOTOPE_HD bool is_wide(std::size_t word) const {
    if constexpr (kByLanes<P>) return false;  // such a lane has two loads, each on a condition of its own
    return (word + 1) * P::kBytes <= bytes && (reinterpret_cast<std::uintptr_t>(src) | stride) % alignof(Data) == 0;
  }
  ISOTOPE_HD Data wide(int k, std::size_t word) const {
    Data data;
    std::memcpy(&data, __builtin_assume_aligned(begin(k) + word * P::kBytes, alignof(Data)), sizeof(Data));
    return data;
  }
  ISOTOPE_HD Data piece(int k, std::size_t word) const {
    if constexpr (kByLanes<P>) return read_word<P>(begin(k) + data_begin<P>(word), data_length<P>(word, bytes));
    return read_piece<Data>(begin(k) + word * P::kBytes, bytes - word * P::kBytes);
  }

 private:
  ISOTOPE_HD const char* begin(int k) const { return src + static_cast<std::size_t>(k) * stride; }
};

/// This thread's words of what goes out.
struct ShareOfWords {
  std::uint32_t first, step;
  std::size_t count;
};

/// The word of each member, from this PE's own on.
template <class P, int Others, Group G>
ISOTOPE_HD void read_for_each(const Stage<G>& on, const Outgoing<P>& out, std::size_t word,
                              typename P::Data (&data)[Others + 1]) {
  if (out.is_wide(word)) {
    ISOTOPE_UNROLL
    for (int i = 0; i <= Others; ++i) data[i] = out.wide(on.next(i), word);
  } else {
    ISOTOPE_UNROLL
    for (int i = 0; i <= Others; ++i) data[i] = out.piece(on.next(i), word);
  }
  ISOTOPE_UNROLL
  for (int i = 0; i <= Others; ++i) data[i] = P::prepare(data[i], out.element);
}

/// Sends each of `Others` other members its words; `own` becomes this PE's first one. All of a word is read before any
/// of it goes out, and the first word before it is known which round this is: on a GPU a read takes longer than all the
/// rest.
template <class P, int Others, Group G>
ISOTOPE_HD bool send_to_each(const Stage<G>& on, const Outgoing<P>& out, const ShareOfWords& share, std::uint64_t round,
                             typename P::Data& own) {
  typename P::Data data[Others + 1] = {};
  if (share.first < share.count) read_for_each<P, Others>(on, out, share.first, data);
  if (!all_say<P>(!on.team.stopped())) return false;
  own = data[0];
  char* there[Others];
  char* mine = on.channel.slot(P::kKind, round, on.me());
  ISOTOPE_UNROLL
  for (int i = 0; i < Others; ++i) there[i] = on.team.at(mine, on.next(i + 1));
  for (std::size_t word = share.first; word < share.count; word += share.step) {
    if (word != share.first) read_for_each<P, Others>(on, out, word, data);
    ISOTOPE_UNROLL
    for (int i = 0; i < Others; ++i) P::send(there[i], word, data[i + 1], round);
  }
  return true;
}

/// The same to any number of them. Where `Alike`, all get the same.
template <class P, bool Alike, Group G>
ISOTOPE_HD bool send_to_all(const Stage<G>& on, const Outgoing<P>& out, const ShareOfWords& share, std::uint64_t round,
                            typename P::Data& own) {
  const int me = on.me(), members = on.members();
  if (share.first < share.count) own = out(me, share.first);
  if (!all_say<P>(!on.team.stopped())) return false;
  char* mine = on.channel.slot(P::kKind, round, me);
  // Between two, the other's address is worked out once; among more, each as it is needed is sooner.
  if (Alike && members == 2) {
    char* there = on.team.at(mine, on.next());
    for (std::size_t word = share.first; word < share.count; word += share.step)
      P::send(there, word, word == share.first ? own : out(me, word), round);
    return true;
  }
  for (std::size_t word = share.first; word < share.count; word += share.step) {
    typename P::Data data = own;
    if (Alike && word != share.first) data = out(me, word);
    for (int k = on.next(); k != me; k = k + 1 == members ? 0 : k + 1) {
      if (!Alike) data = out(k, word);
      P::send(on.team.at(mine, k), word, data, round);
    }
  }
  return true;
}

/// Whether the usual numbers of PEs that share a GPU have code of their own, with all members' words in registers. Also
/// under the checker, which has no GPU and finds its bugs all the same.
template <class P>
inline constexpr bool kOwnCode = (platform::kIsGpu || ISOTOPE_SIM) && sizeof(typename P::Raw) <= 16;

/// Waits for the word of each of `Others` other members and gives all to `each`, in rank order.
template <class P, int Others, Group G, class Each>
ISOTOPE_HD bool each_of_all(const Stage<G>& on, Patience& patience, const char* slots, std::size_t stride,
                            std::size_t word, std::uint64_t round, const typename P::Data& own, const Each& each) {
  typename P::Raw raw[Others];
  if (!receive_all<P, Others>(patience, on.team, slots, stride, on.call, word, round, raw)) return false;
  ISOTOPE_UNROLL
  for (int k = 0; k <= Others; ++k) {
    const typename P::Raw& before = raw[k < Others ? k : Others - 1];
    const typename P::Raw& after = raw[k > 0 ? k - 1 : 0];
    each(k, k < on.me() ? P::data(before) : k == on.me() ? own : P::data(after));
  }
  return true;
}

/// By a thread: its share of the words of all slots of a round.
ISOTOPE_GPU_COLD void clear_ll8(char* slots, std::size_t words, Workers workers, std::uint64_t round) {
  for (std::size_t word = workers.rank; word < words; word += workers.count) Ll8::clear(slots, word, round);
}

/// One round, the call's first or a later one. This thread's words of what goes `out`; where `Alike`, all members get
/// the same.
///   take(word, each)        each(step) waits for the members' words and calls step(k, data) for all in rank order, its
///                           own as it would have been sent; false: it gave up, return false then too
template <class P, bool Alike, Group G, class Take>
ISOTOPE_HD bool packet_round(const Stage<G>& on, bool first_round, const Outgoing<P>& out, Take take) {
  ChannelWords* words = on.channel.words();
  std::uint64_t* counter = P::kClears ? &words->lamport_rounds : &words->rounds;
  const std::size_t count = words_of<P>(out.bytes);
  const std::uint32_t first = on.group.thread_rank(), step = on.group.size();
  const ShareOfWords share{first, step, count};
  const int me = on.me(), members = on.members();
  const std::size_t stride = on.channel.slot_stride(P::kKind);
  const std::uint64_t round = begin_round(on, counter, first_round);
  // Everything that is known by now is asked for at once: on a GPU an answer takes as long as all the rest of this.
  std::uint64_t used[3] = {};
  if constexpr (P::kClears) {
    ISOTOPE_UNROLL
    for (int i = 0; i < 3; ++i) used[i] = words->lamport_bytes[i];
  }
  typename P::Data ahead{};  // the first of this PE's own words
  const auto send = [&] {
    if constexpr (kOwnCode<P> && !Alike) {
      if (members == 2) return send_to_each<P, 1>(on, out, share, round, ahead);
      if (members == 4) return send_to_each<P, 3>(on, out, share, round, ahead);
    }
    return send_to_all<P, Alike>(on, out, share, round, ahead);
  };
  bool well = send();
  // Asked for while words are on their way. By every thread, before any of them changes it.
  [[maybe_unused]] std::uint64_t ll8_age = 0;
  if constexpr (std::same_as<P, Ll8>) ll8_age = round - words->ll8_cleared[round % 2];
  if (well) {
    if constexpr (P::kClears) {
      // The slots of the round before: everyone has sent its words of this round, or will not until it has read those.
      const std::uint64_t before = round + 2;
      const auto which = static_cast<std::uint32_t>(before % 3);
      const std::size_t dirty = (which == 0 ? used[0] : which == 1 ? used[1] : used[2]) / P::kBytes;
      char* slot = on.channel.slots(P::kKind, before);
      for (int k = 0; k < members; ++k, slot += stride) {
        if (k == me) continue;
        for (std::size_t word = first; word < dirty; word += step) P::clear(slot, word);
      }
    }
    Patience patience(on.team);
    const char* slots = on.channel.slots(P::kKind, round);
    for (std::size_t word = first; well && word < count; word += step) {
      const typename P::Data own = word == first ? ahead : out(me, word);
      well = take(word, [&](const auto& each) {
        if constexpr (kOwnCode<P>) {
          if (members == 2) return each_of_all<P, 1>(on, patience, slots, stride, word, round, own, each);
          if (members == 4) return each_of_all<P, 3>(on, patience, slots, stride, word, round, own, each);
        }
        for (int k = 0; k < members; k += kBatch<P>) {
          typename P::Raw raw[kBatch<P>] = {};
          if (!receive<P>(patience, on.team, slots + static_cast<std::size_t>(k) * stride, stride, on.call, word, round,
                          k, members - k, raw))
            return false;
          ISOTOPE_UNROLL
          for (int i = 0; i < kBatch<P>; ++i) {
            if (k + i < members) each(k + i, k + i == me ? own : P::data(raw[i]));
          }
        }
        return true;
      });
    }
  }
  well = together(on, well);
  if constexpr (P::kClears) {
    if (on.group.is_leader()) {
      words->lamport_bytes[(round + 2) % 3] = 0;
      words->lamport_bytes[round % 3] = count * P::kBytes;
    }
  }
  if constexpr (std::same_as<P, Ll8>) {
    // Nobody writes there again before it has heard from this PE in the next round.
    if (ll8_age >= Ll8::kOldest) {
      const auto slots = static_cast<std::size_t>(on.channel.workspace().members());
      clear_ll8(on.channel.slots(P::kKind, round), slots * stride / sizeof(typename P::Raw), {first, step}, round);
      if (on.group.is_leader()) words->ll8_cleared[round % 2] = round;
    }
  }
  end_round(on, counter, round);
  return well;
}

/// Whether a group sends lines by lanes where it can, which is where it is made of whole warps.
template <class P, Group G>
inline constexpr bool kGoesByLanes = std::same_as<P, Ll128> && platform::kLinesLandWhole && !std::same_as<G, Thread>;
ISOTOPE_HD bool is_of_whole_warps() { return platform::block_threads() % kWarpSize == 0; }

/// Everyone sends elements to everyone, and sums what comes in rank order. all-reduce: all get the same, `blocks` at
/// stride 0, and `Alike`. reduce-scatter: member k gets block k.
template <class P, bool Alike, Group G, class R>
ISOTOPE_HD bool reduce_packets(const Stage<G>& on, const R& r, char* dst, const char* src, const Blocks& blocks) {
  if constexpr (kGoesByLanes<P, G>) {
    if (is_of_whole_warps()) return reduce_packets<Ll128Lanes, Alike>(on, r, dst, src, blocks);
  }
  const std::size_t most = on.channel.slot_bytes() / r.element(), count = blocks.each;
  for (std::size_t begin = 0; begin < count; begin += most) {
    const std::size_t n = count - begin < most ? count - begin : most, bytes = n * r.element();
    char* to = dst + begin * r.element();
    const Outgoing<P> out{src + begin * r.element(), blocks.stride * r.element(), bytes, r.element()};
    const auto take = [&](std::size_t word, const auto& for_each) {
      typename R::template Partials<P::kBytes> partials{};
      const bool all = for_each([&](int k, const typename P::Data& data) {
        if (k == 0) {
          r.widen_word(partials, data);
        } else {
          r.more_word(partials, data);
        }
      });
      if (!all) return false;
      write_word<P>(to + data_begin<P>(word), r.template finish_word<typename P::Data>(partials, on.members()),
                    data_length<P>(word, bytes));
      return true;
    };
    if (!packet_round<P, Alike>(on, begin == 0, out, take)) return false;
  }
  return true;
}

/// all-gather and all-to-all: block k of `dst` comes from member k, which sends its `src` (all-gather) or its block for
/// us.
template <class P, bool Gather, Group G>
ISOTOPE_HD bool exchange_packets(const Stage<G>& on, char* dst, const char* src, const Blocks& blocks) {
  if constexpr (kGoesByLanes<P, G>) {
    if (is_of_whole_warps()) return exchange_packets<Ll128Lanes, Gather>(on, dst, src, blocks);
  }
  const std::size_t each = blocks.each;
  for (std::size_t begin = 0; begin < each; begin += on.channel.slot_bytes()) {
    const std::size_t bytes = each - begin < on.channel.slot_bytes() ? each - begin : on.channel.slot_bytes();
    const Outgoing<P> out{src + begin, Gather ? 0 : blocks.stride, bytes, 1};
    const auto take = [&](std::size_t word, const auto& for_each) {
      return for_each([&](int k, const typename P::Data& data) {
        write_word<P>(dst + blocks.begin(k) + begin + data_begin<P>(word), data, data_length<P>(word, bytes));
      });
    };
    if (!packet_round<P, Gather>(on, begin == 0, out, take)) return false;
  }
  return true;
}

}  // namespace isotope::detail
