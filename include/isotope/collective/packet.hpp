// Packets: data that carries its own flag, so that a message needs no fence between the two. One word of a slot at a
// time.
//
//   Ll8       4 bytes of data and 4 of the round in one 8-byte store                   half of the slot is flags
//   Ll16      8 bytes of data and 8 of the round in one 16-byte store (store16)        half
//   Ll128     120 bytes of data and 8 of the round in a line of 128                    one part in 16
//   Lamport   the data itself, 16 bytes: a half that is not all ones has come          none; floats only
//
// A packet lands whole by the platform's promise for words of its size, which every platform makes; Lamport's halves
// are on their own. Of a line none does, so its flag is a release, but where somebody has said that lines land whole
// (platform::kLinesLandWhole): there the lanes of a warp send them (Ll128Lanes).
//
// All ones is a NaN of every float type. A half that is all ones is sent with the signs of its elements cleared, which
// is NaN still: no number is lost. Integers have nothing to spare.
//
// Rounds are counted in 64 bits, of which Ll8 sends the lower half. A word that no round has written for 2^32 rounds
// would pass for the next one's, so packet_rounds.hpp clears Ll8 slots four times as often.
//
// send: by one thread, to the slot's address on the receiver. peek: one look at the receiver's own; arrived tells
// whether it is of that round, and data takes it out.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "isotope/base/bits.hpp"
#include "isotope/collective/workspace.hpp"
#include "isotope/device/group.hpp"
#include "isotope/device/memory.hpp"
#include "isotope/device/wait.hpp"

namespace isotope::detail {

struct Ll8 {
  static constexpr SlotKind kKind = SlotKind::ll8;
  static constexpr int kBytes = 4;
  static constexpr bool kClears = false;
  /// Rounds after which slots are cleared.
  static constexpr std::uint64_t kOldest = std::uint64_t{1} << 30;
  using Data = std::uint32_t;
  using Raw = std::uint64_t;

  ISOTOPE_HD static Data prepare(Data data, std::size_t) { return data; }
  ISOTOPE_HD static void send(char* slot, std::size_t word, Data data, std::uint64_t round) {
    store(reinterpret_cast<std::uint64_t*>(slot) + word, data | round << 32);
  }
  ISOTOPE_HD static Raw peek(const char* slot, std::size_t word, std::uint64_t) {
    return load(reinterpret_cast<const std::uint64_t*>(slot) + word);
  }
  ISOTOPE_HD static bool arrived(Raw raw, std::uint64_t round) {
    return static_cast<std::uint32_t>(raw >> 32) == static_cast<std::uint32_t>(round);
  }
  ISOTOPE_HD static Data data(Raw raw) { return static_cast<Data>(raw); }
  /// As of the round before.
  ISOTOPE_HD static void clear(char* slot, std::size_t word, std::uint64_t round) {
    store(reinterpret_cast<std::uint64_t*>(slot) + word, (round - 1) << 32);
  }
  ISOTOPE_HD static void give_up(const Patience& patience, Call call, const char* slot, std::size_t word,
                                 std::uint64_t round, Raw raw, int from) {
    const auto* at = reinterpret_cast<const std::uint32_t*>(slot) + 2 * word + 1;
    patience.give_up(call, at, Cmp::eq, static_cast<std::uint32_t>(round), static_cast<std::uint32_t>(raw >> 32), from);
  }
};

struct Ll16 {
  static constexpr SlotKind kKind = SlotKind::ll16;
  static constexpr int kBytes = 8;
  static constexpr bool kClears = false;
  using Data = std::uint64_t;
  using Raw = Bits128;

  ISOTOPE_HD static Data prepare(Data data, std::size_t) { return data; }
  ISOTOPE_HD static void send(char* slot, std::size_t word, Data data, std::uint64_t round) {
    store16(reinterpret_cast<Bits128*>(slot) + word, {data, round});
  }
  ISOTOPE_HD static Raw peek(const char* slot, std::size_t word, std::uint64_t) {
    return load16(reinterpret_cast<const Bits128*>(slot) + word);
  }
  ISOTOPE_HD static bool arrived(const Raw& raw, std::uint64_t round) { return raw.high == round; }
  ISOTOPE_HD static Data data(const Raw& raw) { return raw.low; }
  ISOTOPE_HD static void give_up(const Patience& patience, Call call, const char* slot, std::size_t word,
                                 std::uint64_t round, const Raw& raw, int from) {
    const auto* at = &(reinterpret_cast<const Bits128*>(slot) + word)->high;
    patience.give_up(call, at, Cmp::eq, round, raw.high, from);
  }
};

struct Lamport {
  static constexpr SlotKind kKind = SlotKind::lamport;
  static constexpr int kBytes = 16;
  static constexpr bool kClears = true;
  using Data = Bits128;
  using Raw = Bits128;
  static constexpr std::uint64_t kClear = ~std::uint64_t{0};

  /// No half of all ones: its elements, NaN, lose their sign.
  ISOTOPE_HD static Data prepare(Data data, std::size_t element) {
    const std::uint64_t nans = element == 1   ? 0x7f7f7f7f7f7f7f7full
                               : element == 2 ? 0x7fff7fff7fff7fffull
                               : element == 4 ? 0x7fffffff7fffffffull
                                              : 0x7fffffffffffffffull;
    if (data.low == kClear) data.low = nans;
    if (data.high == kClear) data.high = nans;
    return data;
  }
  ISOTOPE_HD static void send(char* slot, std::size_t word, const Data& data, std::uint64_t) {
    store16(reinterpret_cast<Bits128*>(slot) + word, data);
  }
  ISOTOPE_HD static Raw peek(const char* slot, std::size_t word, std::uint64_t) {
    return load16(reinterpret_cast<const Bits128*>(slot) + word);
  }
  ISOTOPE_HD static bool arrived(const Raw& raw, std::uint64_t) { return raw.low != kClear && raw.high != kClear; }
  ISOTOPE_HD static Data data(const Raw& raw) { return raw; }
  ISOTOPE_HD static void give_up(const Patience& patience, Call call, const char* slot, std::size_t word, std::uint64_t,
                                 const Raw& raw, int from) {
    const auto* at = reinterpret_cast<const Bits128*>(slot) + word;
    const bool low = raw.low == kClear;
    patience.give_up(call, low ? &at->low : &at->high, Cmp::ne, kClear, low ? raw.low : raw.high, from);
  }
  ISOTOPE_HD static void clear(char* slot, std::size_t word) {
    store16(reinterpret_cast<Bits128*>(slot) + word, {kClear, kClear});
  }
};

/// By one thread: the flag is a release and its reader acquires, for each line. Right on every platform, and cheap on
/// CPUs; on a GPU each release costs as much as a short message.
struct Ll128 {
  static constexpr SlotKind kKind = SlotKind::ll128;
  static constexpr int kBytes = 120;
  static constexpr bool kClears = false;
  struct Data {
    std::uint64_t words[15];
  };
  struct Raw {
    Data data;
    std::uint64_t flag;
  };

  ISOTOPE_HD static const Data& prepare(const Data& data, std::size_t) { return data; }
  ISOTOPE_HD static void send(char* slot, std::size_t line, const Data& data, std::uint64_t round) {
    auto* to = reinterpret_cast<std::uint64_t*>(slot) + line * 16;
    for (int i = 0; i < 15; ++i) store(&to[i], data.words[i]);
    store(&to[15], round, Order::release);
  }
  ISOTOPE_HD static Raw peek(const char* slot, std::size_t line, std::uint64_t round) {
    const auto* at = reinterpret_cast<const std::uint64_t*>(slot) + line * 16;
    Raw raw{{}, load(&at[15], Order::acquire)};
    if (raw.flag == round)
      for (int i = 0; i < 15; ++i) raw.data.words[i] = load(&at[i]);
    return raw;
  }
  ISOTOPE_HD static bool arrived(const Raw& raw, std::uint64_t round) { return raw.flag == round; }
  ISOTOPE_HD static const Data& data(const Raw& raw) { return raw.data; }
  ISOTOPE_HD static void give_up(const Patience& patience, Call call, const char* slot, std::size_t line,
                                 std::uint64_t round, const Raw& raw, int from) {
    const auto* at = reinterpret_cast<const std::uint64_t*>(slot) + line * 16 + 15;
    patience.give_up(call, at, Cmp::eq, round, raw.flag, from);
  }
};

/// Such lines, each by 8 neighbouring lanes of a warp: one instruction stores it, one loads it, and no fence is needed
/// (platform/line_by_exchange.hpp). A word here is one lane's part: 16 bytes, of which the last one's second half is
/// the flag. Whole warps only: their 32 lanes come to every word together, so words are dealt out by the four lines,
/// the last of which may have no data in them.
struct Ll128Lanes {
  static constexpr SlotKind kKind = SlotKind::ll128;
  static constexpr int kBytes = 16;
  static constexpr bool kClears = false;
  static constexpr std::size_t kLanes = 8, kLine = 120, kLinesOfWarp = 4;
  using Data = Bits128;
  using Raw = Bits128;

  ISOTOPE_HD static bool has_flag(std::size_t word) { return word % kLanes == kLanes - 1; }
  ISOTOPE_HD static Data prepare(const Data& data, std::size_t) { return data; }
  ISOTOPE_HD static void send(char* slot, std::size_t word, Data data, std::uint64_t round) {
    if (has_flag(word)) data.high = round;
    platform::store_line_part(reinterpret_cast<Bits128*>(slot) + word, data);
  }
  ISOTOPE_HD static Raw peek(const char* slot, std::size_t word, std::uint64_t round) {
    return platform::load_line_part(reinterpret_cast<const Bits128*>(slot) + word, round);
  }
  /// As far as this lane can tell.
  ISOTOPE_HD static bool arrived(const Raw& raw, std::uint64_t round) {
    return !has_flag(platform::thread_rank()) || raw.high == round;
  }
  ISOTOPE_HD static const Data& data(const Raw& raw) { return raw; }
  ISOTOPE_HD static void give_up(const Patience& patience, Call call, const char* slot, std::size_t word,
                                 std::uint64_t round, const Raw& raw, int from) {
    if (arrived(raw, round)) return;
    patience.give_up(call, &(reinterpret_cast<const Bits128*>(slot) + word)->high, Cmp::eq, round, raw.high, from);
  }
};

/// Whether the threads that come to a word of a packet together are one, or a whole warp; and what all of them say.
template <class P>
inline constexpr bool kByLanes = std::same_as<P, Ll128Lanes>;
template <class P>
ISOTOPE_HD bool all_say(bool mine) {
  if constexpr (!kByLanes<P>) {
    return mine;
  } else if constexpr (platform::kIsGpu) {
    return platform::all_of_whole_warp(mine);
  } else {
    return this_warp().all(mine);
  }
}

/// Whether they wait on. Of a warp the lanes are asked that lack their part: who ends the wait is who records it.
template <class P>
ISOTOPE_HD bool go_on(Patience& patience, bool lacks) {
  if constexpr (kByLanes<P>) return all_say<P>(!lacks || patience.go_on());
  return patience.go_on();
}

/// How many words `bytes` of data are; where a word's data begins, and how much of it there is.
template <class P>
ISOTOPE_HD constexpr std::size_t words_of(std::size_t bytes) {
  if constexpr (kByLanes<P>) {
    constexpr std::size_t kLines = P::kLinesOfWarp;
    return (bytes + kLines * P::kLine - 1) / (kLines * P::kLine) * (kLines * P::kLanes);
  } else {
    return (bytes + P::kBytes - 1) / P::kBytes;
  }
}
template <class P>
ISOTOPE_HD constexpr std::size_t data_begin(std::size_t word) {
  if constexpr (kByLanes<P>) return word * P::kBytes - word / P::kLanes * (P::kLanes * P::kBytes - P::kLine);
  return word * P::kBytes;
}
template <class P>
ISOTOPE_HD constexpr std::size_t data_length(std::size_t word, std::size_t bytes) {
  const std::size_t begin = data_begin<P>(word);
  if constexpr (kByLanes<P>) {
    const std::size_t most = P::has_flag(word) ? 8 : 16, left = begin < bytes ? bytes - begin : 0;
    return left < most ? left : most;
  } else {
    return bytes - begin;
  }
}

/// What has come from up to `Most` members in a row: all loads are under way before the first is looked at.
template <class P>
inline constexpr int kBatch = sizeof(typename P::Raw) <= 16 ? 4 : 1;

/// Waits for one word from each of members first, first + 1, ..., `count` of them (at most kBatch<P>), passing over
/// `me`. `slots` is the first one's; the others follow at `stride`. False: it gave up.
template <class P>
ISOTOPE_HD bool receive(Patience& patience, const Team& team, const char* slots, std::size_t stride, Call call,
                        std::size_t word, std::uint64_t round, int first, int count,
                        typename P::Raw (&raw)[kBatch<P>]) {
  for (;;) {
    int missing = -1;
    ISOTOPE_UNROLL
    for (int i = 0; i < kBatch<P>; ++i) {
      if (i < count && first + i != team.rank())
        raw[i] = P::peek(slots + static_cast<std::size_t>(i) * stride, word, round);
    }
    ISOTOPE_UNROLL
    for (int i = 0; i < kBatch<P>; ++i) {
      if (i < count && first + i != team.rank() && missing < 0 && !all_say<P>(P::arrived(raw[i], round))) missing = i;
    }
    if (missing < 0) break;
    bool lacks = false;
    ISOTOPE_UNROLL
    for (int i = 0; i < kBatch<P>; ++i)
      if (i == missing) lacks = !P::arrived(raw[i], round);
    if (go_on<P>(patience, lacks)) continue;
    ISOTOPE_UNROLL
    for (int i = 0; i < kBatch<P>; ++i) {
      if (i == missing)
        P::give_up(patience, call, slots + static_cast<std::size_t>(i) * stride, word, round, raw[i],
                   team.world_rank(first + i));
    }
    return false;
  }
  patience.met();
  return true;
}

/// The same from all the others, whose number is known: every look is one row of loads without a branch between them.
template <class P, int Others>
ISOTOPE_HD bool receive_all(Patience& patience, const Team& team, const char* slots, std::size_t stride, Call call,
                            std::size_t word, std::uint64_t round, typename P::Raw (&raw)[Others]) {
  const auto slot = [&](int i) { return slots + static_cast<std::size_t>(i < team.rank() ? i : i + 1) * stride; };
  const auto have_come = [&] {
    ISOTOPE_UNROLL
    for (int i = 0; i < Others; ++i) raw[i] = P::peek(slot(i), word, round);
    bool all = true;
    ISOTOPE_UNROLL
    for (int i = 0; i < Others; ++i) all = all & P::arrived(raw[i], round);
    return all_say<P>(all);
  };
  if constexpr (platform::kIsGpu) {
    // As in wait_for_word: nothing between the first polls.
    ISOTOPE_GPU_ROLLED
    for (int poll = 0; poll < kFirstPolls; ++poll)
      if (have_come()) return true;
  }
  while (!have_come()) {
    if constexpr (!kByLanes<P>) {
      if (patience.go_on()) continue;
    }
    int missing = Others;
    ISOTOPE_UNROLL
    for (int i = Others - 1; i >= 0; --i) missing = all_say<P>(P::arrived(raw[i], round)) ? missing : i;
    if constexpr (kByLanes<P>) {
      bool lacks = false;
      ISOTOPE_UNROLL
      for (int i = 0; i < Others; ++i)
        if (i == missing) lacks = !P::arrived(raw[i], round);
      if (go_on<P>(patience, lacks)) continue;
    }
    ISOTOPE_UNROLL
    for (int i = 0; i < Others; ++i) {
      if (i == missing)
        P::give_up(patience, call, slot(i), word, round, raw[i], team.world_rank(i < team.rank() ? i : i + 1));
    }
    return false;
  }
  patience.met();
  return true;
}

}  // namespace isotope::detail
