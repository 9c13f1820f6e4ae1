// Rounds of packets: every member sends words to every other one and takes what they send, with no flag besides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "isotope/collective/direct.hpp"
#include "isotope/collective/packet.hpp"
#include "isotope/collective/stage.hpp"

namespace isotope::detail {

/// A packet's data from memory that may end before it, or be less aligned.
template <class Data>
ISOTOPE_HD Data read_data(const char* p, std::size_t valid) {
  if (valid >= sizeof(Data) && reinterpret_cast<std::uintptr_t>(p) % alignof(Data) == 0) {
    Data data;
    std::memcpy(&data, __builtin_assume_aligned(p, alignof(Data)), sizeof(Data));
    return data;
  }
  // One of its own: what is copied by a length that is not known leaves the registers.
  Data piece{};
  std::memcpy(&piece, p, valid < sizeof(Data) ? valid : sizeof(Data));
  return piece;
}
template <class Data>
ISOTOPE_HD void write_data(char* p, const Data& data, std::size_t valid) {
  if (valid >= sizeof(Data) && reinterpret_cast<std::uintptr_t>(p) % alignof(Data) == 0) {
    std::memcpy(__builtin_assume_aligned(p, alignof(Data)), &data, sizeof(Data));
  } else {
    const Data piece = data;
    std::memcpy(p, &piece, valid < sizeof(Data) ? valid : sizeof(Data));
  }
}

/// Waits for the word of each of `Others` other members and gives all to `each`, in rank order.
template <class P, int Others, Group G, class Each>
ISOTOPE_HD bool each_of_all(const Stage<G>& on, Patience& patience, const char* slots, std::size_t stride, std::size_t word,
                            std::uint64_t round, const typename P::Data& own, const Each& each) {
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

/// One round, the call's first or a later one. This thread's words of `bytes`:
///   payload(k, word)        what it sends to member k; asked once per word where `alike`: all get the same
///   take(word, each)        each(step) waits for the members' words and calls step(k, data) for all of them in rank order, its
///                           own with what payload gave; false: it gave up, return false then too
template <class P, Group G, class Payload, class Take>
ISOTOPE_HD bool packet_round(const Stage<G>& on, bool first_round, std::size_t bytes, bool alike, Payload payload, Take take) {
  ChannelWords* words = on.channel.words();
  std::uint64_t* counter = P::kClears ? &words->lamport_rounds : &words->rounds;
  const std::size_t count = (bytes + P::kBytes - 1) / P::kBytes;
  const std::uint32_t first = on.group.thread_rank(), step = on.group.size();
  const int me = on.me(), members = on.members();
  const std::size_t stride = on.channel.slot_stride(P::kKind);
  const std::uint64_t round = begin_round(on, counter, first_round);
  // Everything that is known by now is asked for at once: on a GPU an answer takes as long as all the rest of this.
  std::uint64_t used[3] = {};
  if constexpr (P::kClears) {
    ISOTOPE_UNROLL
    for (int i = 0; i < 3; ++i) used[i] = words->lamport_bytes[i];
  }
  typename P::Data ahead{};  // the first word that goes out
  if (first < count) ahead = payload(alike ? me : on.next(), first);
  bool well = !on.team.stopped();
  if (well) {
    char* mine = on.channel.slot(P::kKind, round, me);
    for (std::size_t word = first; word < count; word += step) {
      typename P::Data data = ahead;
      if (alike && word != first) data = payload(me, word);
      for (int k = on.next(); k != me; k = k + 1 == members ? 0 : k + 1) {
        if (!alike && (word != first || k != on.next())) data = payload(k, word);
        P::send(on.team.at(mine, k), word, data, round);
      }
    }
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
      const typename P::Data own = alike && word == first ? ahead : payload(me, word);
      well = take(word, [&](const auto& each) {
        // The usual numbers of PEs that share a GPU.
        if constexpr (platform::kIsGpu && sizeof(typename P::Raw) <= 16) {
          if (members == 2) return each_of_all<P, 1>(on, patience, slots, stride, word, round, own, each);
          if (members == 4) return each_of_all<P, 3>(on, patience, slots, stride, word, round, own, each);
        }
        for (int k = 0; k < members; k += kBatch<P>) {
          typename P::Raw raw[kBatch<P>] = {};
          if (!receive<P>(patience, on.team, slots + static_cast<std::size_t>(k) * stride, stride, on.call, word, round, k, members - k, raw))
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
  end_round(on, counter, round);
  return well;
}

/// Everyone sends elements to everyone, and sums what comes in rank order. all-reduce: all get the same, `blocks` at stride 0.
/// reduce-scatter: member k gets block k.
template <class P, Group G, class R>
ISOTOPE_HD bool reduce_packets(const Stage<G>& on, const R& r, char* dst, const char* src, const Blocks& blocks) {
  const std::size_t most = on.channel.slot_bytes() / r.element(), count = blocks.each;
  for (std::size_t begin = 0; begin < count; begin += most) {
    const std::size_t n = count - begin < most ? count - begin : most, bytes = n * r.element();
    char* to = dst + begin * r.element();
    const auto block = [&](int k, std::size_t word) {
      const char* from = src + (blocks.begin(k) + begin) * r.element();
      return P::prepare(read_data<typename P::Data>(from + word * P::kBytes, bytes - word * P::kBytes), r.element());
    };
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
      write_data(to + word * P::kBytes, r.template finish_word<typename P::Data>(partials, on.members()), bytes - word * P::kBytes);
      return true;
    };
    if (!packet_round<P>(on, begin == 0, bytes, blocks.stride == 0, block, take)) return false;
  }
  return true;
}

/// all-gather and all-to-all: block k of `dst` comes from member k, which sends its `src` (all-gather) or its block for us.
template <class P, Group G>
ISOTOPE_HD bool exchange_packets(const Stage<G>& on, bool gather, char* dst, const char* src, const Blocks& blocks) {
  const std::size_t each = blocks.each;
  for (std::size_t begin = 0; begin < each; begin += on.channel.slot_bytes()) {
    const std::size_t bytes = each - begin < on.channel.slot_bytes() ? each - begin : on.channel.slot_bytes();
    const auto block = [&](int k, std::size_t word) {
      const char* from = src + (gather ? 0 : blocks.begin(k)) + begin;
      return read_data<typename P::Data>(from + word * P::kBytes, bytes - word * P::kBytes);
    };
    const auto take = [&](std::size_t word, const auto& for_each) {
      return for_each([&](int k, const typename P::Data& data) {
        write_data(dst + blocks.begin(k) + begin + word * P::kBytes, data, bytes - word * P::kBytes);
      });
    };
    if (!packet_round<P>(on, begin == 0, bytes, gather, block, take)) return false;
  }
  return true;
}

}  // namespace isotope::detail
