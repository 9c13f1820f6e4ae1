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
  Data data{};
  if (valid >= sizeof(Data) && reinterpret_cast<std::uintptr_t>(p) % alignof(Data) == 0) {
    std::memcpy(&data, __builtin_assume_aligned(p, alignof(Data)), sizeof(Data));
  } else {
    std::memcpy(&data, p, valid < sizeof(Data) ? valid : sizeof(Data));
  }
  return data;
}
template <class Data>
ISOTOPE_HD void write_data(char* p, const Data& data, std::size_t valid) {
  if (valid >= sizeof(Data) && reinterpret_cast<std::uintptr_t>(p) % alignof(Data) == 0) {
    std::memcpy(__builtin_assume_aligned(p, alignof(Data)), &data, sizeof(Data));
  } else {
    std::memcpy(p, &data, valid < sizeof(Data) ? valid : sizeof(Data));
  }
}

/// One round. This thread's words of `bytes`:
///   payload(k, word)        what it sends to member k; asked once per word where `alike`: all get the same
///   take(word, each)        each(step) waits for the members' words and calls step(k, data) for all of them in rank order, its
///                           own with what payload gave; false: it gave up, return false then too
template <class P, Group G, class Payload, class Take>
ISOTOPE_HD bool packet_round(const Stage<G>& on, std::size_t bytes, bool alike, Payload payload, Take take) {
  ChannelWords* words = on.channel.words();
  std::uint64_t* counter = P::kClears ? &words->lamport_rounds : &words->rounds;
  const std::uint64_t round = begin_round(on, counter);
  const std::size_t count = (bytes + P::kBytes - 1) / P::kBytes;
  const std::uint32_t first = on.group.thread_rank(), step = on.group.size();
  const int me = on.me(), members = on.members();
  bool well = !on.team.stopped();
  if (well) {
    char* mine = on.channel.slot(P::kKind, round, me);
    for (std::size_t word = first; word < count; word += step) {
      typename P::Data data{};
      if (alike) data = payload(me, word);
      for (int k = on.next(); k != me; k = k + 1 == members ? 0 : k + 1) {
        if (!alike) data = payload(k, word);
        P::send(on.team.at(mine, k), word, data, round);
      }
    }
    if constexpr (P::kClears) {
      // The slots of the round before: everyone has sent its words of this round, or will not until it has read those.
      const std::uint64_t before = round + 2;
      const std::size_t dirty = words->lamport_bytes[before % 3] / P::kBytes;
      for (int k = 0; k < members; ++k) {
        if (k == me) continue;
        char* slot = on.channel.slot(P::kKind, before, k);
        for (std::size_t word = first; word < dirty; word += step) P::clear(slot, word);
      }
    }
    Patience patience(on.team);
    for (std::size_t word = first; well && word < count; word += step) {
      well = take(word, [&](const auto& each) {
        for (int k = 0; k < members; k += kBatch<P>) {
          typename P::Raw raw[kBatch<P>] = {};
          if (!receive<P>(patience, on.team, on.channel, on.call, word, round, k, members - k, raw)) return false;
          ISOTOPE_UNROLL
          for (int i = 0; i < kBatch<P>; ++i) {
            if (k + i >= members) break;
            each(k + i, k + i == me ? payload(me, word) : P::data(raw[i]));
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

/// all-reduce: everyone sends everything to everyone, and sums in rank order.
template <class P, Group G, class R>
ISOTOPE_HD bool all_reduce_packets(const Stage<G>& on, const R& r, char* dst, const char* src, std::size_t count) {
  const std::size_t most = on.channel.slot_bytes() / r.element();
  const auto lanes = r.template lanes<P::kBytes>();
  for (std::size_t begin = 0; begin < count; begin += most) {
    const std::size_t n = count - begin < most ? count - begin : most, bytes = n * r.element();
    const char* from = src + begin * r.element();
    char* to = dst + begin * r.element();
    const auto own = [&](int, std::size_t word) {
      return P::prepare(read_data<typename P::Data>(from + word * P::kBytes, bytes - word * P::kBytes), r.element());
    };
    const auto take = [&](std::size_t word, const auto& for_each) {
      typename R::template Partials<P::kBytes> partials{};
      const bool all = for_each([&](int k, const typename P::Data& data) {
        if (k == 0) {
          r.widen(partials.data(), &data, lanes);
        } else {
          r.more(partials.data(), &data, lanes);
        }
      });
      if (!all) return false;
      typename P::Data sum;
      r.finish(&sum, partials.data(), lanes, on.members());
      write_data(to + word * P::kBytes, sum, bytes - word * P::kBytes);
      return true;
    };
    if (!packet_round<P>(on, bytes, true, own, take)) return false;
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
    if (!packet_round<P>(on, bytes, gather, block, take)) return false;
  }
  return true;
}

}  // namespace isotope::detail
