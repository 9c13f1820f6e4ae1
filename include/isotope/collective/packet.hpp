// Packets: data that carries its own flag, so that a message needs no fence between the two. One word of a slot at a time.
//
//   Ll8       4 bytes of data and 4 of the round in one 8-byte store                   half of the slot is flags
//   Ll16      8 bytes of data and 8 of the round in one 16-byte store (store16)        half
//   Lamport   the data itself: a word that is not all ones has come                    none; floats only
//
// A packet lands whole by the platform's promise for words of its size, which every platform makes; ll128.hpp has the one
// whose lines
// are wider than that. All ones is a NaN of every float type. A payload word that is all ones is sent with the signs of its
// elements cleared, which is NaN still: no value is lost. Integers have no word to spare.
//
// send is by one thread to the slot's address on the receiver, receive by one thread from its own. receive waits; false:
// it gave up, and `data` is nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/base/bits.hpp"
#include "isotope/collective/workspace.hpp"
#include "isotope/device/memory.hpp"
#include "isotope/device/wait.hpp"

namespace isotope::detail {

struct Ll8 {
  static constexpr SlotKind kKind = SlotKind::ll8;
  using Data = std::uint32_t;
  static constexpr int kBytes = 4;
  static constexpr bool kClears = false;

  ISOTOPE_HD static Data prepare(const Data& data, std::size_t) { return data; }
  ISOTOPE_HD static void send(char* slot, std::size_t word, Data data, std::uint64_t round) {
    store(reinterpret_cast<std::uint64_t*>(slot) + word, data | round << 32);
  }
  ISOTOPE_HD static bool receive(Patience& patience, const char* slot, std::size_t word, std::uint64_t round, int from,
                                 Call call, Data& data) {
    const auto* at = reinterpret_cast<const std::uint64_t*>(slot) + word;
    const auto flag = static_cast<std::uint32_t>(round);
    std::uint64_t found = load(at);
    while (static_cast<std::uint32_t>(found >> 32) != flag) {
      if (!patience.go_on()) {
        patience.give_up(call, at, Cmp::eq, round << 32, found, from);
        return false;
      }
      found = load(at);
    }
    data = static_cast<Data>(found);
    return true;
  }
};

struct Ll16 {
  static constexpr SlotKind kKind = SlotKind::ll16;
  using Data = std::uint64_t;
  static constexpr int kBytes = 8;
  static constexpr bool kClears = false;

  ISOTOPE_HD static Data prepare(const Data& data, std::size_t) { return data; }
  ISOTOPE_HD static void send(char* slot, std::size_t word, Data data, std::uint64_t round) {
    store16(reinterpret_cast<Bits128*>(slot) + word, {data, round});
  }
  ISOTOPE_HD static bool receive(Patience& patience, const char* slot, std::size_t word, std::uint64_t round, int from,
                                 Call call, Data& data) {
    const auto* at = reinterpret_cast<const Bits128*>(slot) + word;
    Bits128 found = load16(at);
    while (found.high != round) {
      if (!patience.go_on()) {
        patience.give_up(call, &at->high, Cmp::eq, round, found.high, from);
        return false;
      }
      found = load16(at);
    }
    data = found.low;
    return true;
  }
};

struct Lamport {
  static constexpr SlotKind kKind = SlotKind::lamport;
  using Data = std::uint64_t;
  static constexpr int kBytes = 8;
  static constexpr bool kClears = true;
  static constexpr Data kClear = ~Data{0};

  /// No word of all ones: elements of all ones, NaN, lose their sign.
  ISOTOPE_HD static Data prepare(Data data, std::size_t element) {
    if (data != kClear) return data;
    return element == 1   ? 0x7f7f7f7f7f7f7f7full
           : element == 2 ? 0x7fff7fff7fff7fffull
           : element == 4 ? 0x7fffffff7fffffffull
                          : 0x7fffffffffffffffull;
  }
  ISOTOPE_HD static void send(char* slot, std::size_t word, Data data, std::uint64_t) {
    store(reinterpret_cast<Data*>(slot) + word, data);
  }
  ISOTOPE_HD static bool receive(Patience& patience, const char* slot, std::size_t word, std::uint64_t, int from, Call call,
                                 Data& data) {
    const auto* at = reinterpret_cast<const Data*>(slot) + word;
    while ((data = load(at)) == kClear) {
      if (patience.go_on()) continue;
      patience.give_up(call, at, Cmp::ne, kClear, data, from);
      return false;
    }
    return true;
  }
  ISOTOPE_HD static void clear(char* slot, std::size_t word) { store(reinterpret_cast<Data*>(slot) + word, kClear); }
};

/// 120 bytes of data and 8 of the round in a line of 128. Here the flag is a release and its reader acquires, for each line:
/// right on every platform, and cheap on CPUs. On a GPU the point of it is to do without, with a warp that stores the line at
/// once, which rests on 128-byte stores landing whole; no platform of ours promises that yet, so there it is not offered.
struct Ll128 {
  static constexpr SlotKind kKind = SlotKind::ll128;
  static constexpr int kBytes = 120;
  struct Data {
    std::uint64_t words[15];
  };
  static constexpr bool kClears = false;

  ISOTOPE_HD static const Data& prepare(const Data& data, std::size_t) { return data; }
  ISOTOPE_HD static void send(char* slot, std::size_t line, const Data& data, std::uint64_t round) {
    auto* to = reinterpret_cast<std::uint64_t*>(slot) + line * 16;
    for (int i = 0; i < 15; ++i) store(&to[i], data.words[i]);
    store(&to[15], round, Order::release);
  }
  ISOTOPE_HD static bool receive(Patience& patience, const char* slot, std::size_t line, std::uint64_t round, int from,
                                 Call call, Data& data) {
    const auto* at = reinterpret_cast<const std::uint64_t*>(slot) + line * 16;
    // Two rounds later the line is written anew, and only after this one was taken: it never goes past `round`.
    if (!wait_for_word(patience, &at[15], Cmp::ge, round, Order::acquire, from, call)) return false;
    for (int i = 0; i < 15; ++i) data.words[i] = load(&at[i]);
    return true;
  }
};

}  // namespace isotope::detail
